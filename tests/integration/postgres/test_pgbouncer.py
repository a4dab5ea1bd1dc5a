"""Behind a real PgBouncer: a session per client works, a shared one is refused with a sentence."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from plugin_postgres.schema import SCHEMA
from plugin_postgres.settings import Settings
from postgres.account import account_for, as_user
from postgres.provide import prepare
from serving.errors import BadSetting
from tests.integration.plugin_postgres import plugin

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
SECONDS = 60

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed"),
]


@contextmanager
def pgbouncer(database: str, mode: str) -> Iterator[str]:
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
            "default_pool_size = 30\n"
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
            deadline = time.monotonic() + SECONDS
            while time.monotonic() < deadline:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                assert process.poll() is None, "pgbouncer ended"
                time.sleep(0.05)
            yield f"postgresql://postgres@127.0.0.1:{port}/{name}"
        finally:
            process.terminate()
            process.wait(SECONDS)


async def test_a_session_for_each_client_works(database: str) -> None:
    with pgbouncer(database, "session") as url:
        await prepare(Settings(database_url=url), SCHEMA, command="x")
        async with plugin.http(url) as http:
            assert (await http.get("/v1/health")).status_code == 200
            put = await http.put("/v1/namespaces/workspace:a", json={"kind": "workspace"})
            assert put.status_code == 200
            write = {"content": "the deploy failed", "kind": "fact", "source": "user"}
            written = await http.post("/v1/namespaces/workspace:a/memories", json=write)
            assert written.status_code == 201
            search = {"namespaces": ["workspace:a"], "query": "deploy"}
            found = await http.post("/v1/search", json=search)
            assert len(found.json()["memories"]) == 1


@pytest.mark.parametrize("mode", ["transaction", "statement"])
async def test_a_session_that_clients_share_is_refused_at_the_start(
    database: str, mode: str
) -> None:
    with pgbouncer(database, mode) as url:
        for _ in range(2):
            with pytest.raises(BadSetting, match="pool_mode = session"):
                await prepare(Settings(database_url=url), SCHEMA, command="x")
