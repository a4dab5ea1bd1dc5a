"""A legacy database behind PgBouncer, in the two modes that people use."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg
import pytest

from harness.example import Store
from tests.integration.backfill.command import Command
from tests.integration.backfill.conftest import Serve
from tests.integration.backfill.legacy import LegacyDatabase, query_database

BOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
pytestmark = pytest.mark.skipif(BOUNCER is None, reason="pgbouncer is not installed")

CONFIGURATION = """
[databases]
{database} = host={host} {port}dbname={database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = 1
{user}
"""


@contextmanager
def pgbouncer(url: str, mode: str, directory: Path) -> Iterator[str]:
    """PgBouncer before the database of a URL; yields the URL that goes through it."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    user = unquote(parts.username or "postgres")
    database = parts.path.removeprefix("/")
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = free.getsockname()[1]
    host = parts.hostname or query["host"][0]
    port = parts.port or next(iter(query.get("port", [])), None)
    settings = directory / "pgbouncer.ini"
    settings.write_text(
        CONFIGURATION.format(
            database=database,
            host=host,
            port=f"user={user} " + (f"port={port} " if port else ""),
            listen=listen,
            mode=mode,
            # It refuses to run as root; the owner of the socket may use it.
            user=f"user = {Path(host).owner()}" if os.geteuid() == 0 else "",
        )
    )
    assert BOUNCER is not None
    log = directory / "log"
    with log.open("wb") as stderr:
        process = subprocess.Popen([BOUNCER, str(settings)], stderr=stderr)
    through = f"postgresql://{user}@127.0.0.1:{listen}/{database}"
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                query_database(through, "SELECT 1")
                break
            except (OSError, asyncpg.PostgresError):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
        yield through
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_every_mode_works_behind_a_pooler(
    legacy: LegacyDatabase,
    serve: Serve,
    store: Store,
    tmp_path_factory: pytest.TempPathFactory,
    mode: str,
) -> None:
    legacy.fill(1500, legacy.workspace(), legacy.workspace())
    direct = serve()
    with pgbouncer(legacy.url, mode, tmp_path_factory.mktemp("pgbouncer")) as url:
        backfill = Command(url, direct.plugin_url, direct.directory)
        for arguments in (("-dry-run",), ("-apply",), ("-verify", "--verify-all"), ("-apply",)):
            outcome = backfill(*arguments)
            assert outcome.code == 0, outcome.err
    assert len(store.home) == 1500
