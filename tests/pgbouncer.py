"""A real PgBouncer before a database of the tests."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from postgres.account import account_for, as_user
from tests.waiting import SECONDS, until

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextmanager
def pgbouncer(
    database: str, mode: str, *, pool_size: int = 30, round_robin: bool = False
) -> Iterator[str]:
    """The URL of a database through a pooler."""
    assert PGBOUNCER
    parts = urlsplit(database)
    server = Path(parse_qs(parts.query)["host"][0])
    name = parts.path.removeprefix("/")
    with tempfile.TemporaryDirectory(prefix="mp-pgb-") as made, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        configuration = Path(made) / "pgbouncer.ini"
        # Run inside the server's directory, which may be closed to the server's own account.
        configuration.write_text(
            f"[databases]\n{name} = host=/proc/self/cwd dbname={name} user=postgres\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\n"
            f"pool_mode = {mode}\nunix_socket_dir =\nmax_client_conn = 100\n"
            f"default_pool_size = {pool_size}\nserver_round_robin = {round_robin:d}\n"
        )
        Path(made).chmod(0o755)
        probe.close()
        process = subprocess.Popen(
            [PGBOUNCER, "--quiet", str(configuration)],
            cwd=server,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **as_user(account_for(server.parent)),
        )
        try:
            until(lambda: _listens(port) or process.poll() is not None, "pgbouncer does not listen")
            assert process.poll() is None, "pgbouncer ended"
            yield f"postgresql://postgres@127.0.0.1:{port}/{name}"
        finally:
            process.terminate()
            process.wait(SECONDS)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), SECONDS):
        return True
    return False
