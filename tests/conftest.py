"""One real PostgreSQL per test process; a fresh database per test costs a few milliseconds."""

import asyncio
import gc
import os
import shutil
import signal
import ssl
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
from hypothesis import HealthCheck, settings

from plugin_postgres.schema import SCHEMA
from postgres.embedded import embedded_postgres
from tests.in_memory import in_memory
from tests.waiting import SECONDS

# The duration of an example says more about the machine than about the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# A shell makes background jobs ignore Ctrl-C, and nohup makes them ignore the end of the terminal:
# everything that the tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Without bytecode, each of the hundreds of processes that the tests start compiles our code anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Otherwise each of them looks for plugins of pydantic in all packages that are installed.
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
# As in pyproject.toml, for the runs of pytest that tests start elsewhere. They load the plugin of
# schemathesis, because all who use the harness do.
os.environ["PYTEST_ADDOPTS"] = "-p no:langsmith_plugin"


def pytest_collection_finish() -> None:
    """Spare the garbage collector thousands of collected tests, which stay until the end.

    Looking at them again and again takes time, and stops this process for longer than a server
    waits for a client.
    """
    gc.collect()
    gc.freeze()


def database_url(cluster: str, name: str) -> str:
    """The URL of another database of the same cluster."""
    return urlunsplit(urlsplit(cluster)._replace(path=f"/{name}"))


def execute(url: str, *statements: str) -> None:
    """Run statements outside a transaction, from synchronous code."""

    async def run() -> None:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(run())


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Tests marked `anyio` run on asyncio only: that is what the servers run on."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _patience() -> Iterator[None]:
    """A busy database is not down: what runs in this process waits for its health."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("postgres.database._HEALTH_SECONDS", SECONDS)
        yield


@pytest.fixture(scope="session", autouse=True)
def _certificates_read_once() -> Iterator[None]:
    """Every HTTP client reads all of them, which takes longer than most tests."""
    create = ssl.create_default_context
    read: dict[str, ssl.SSLContext] = {}

    def create_default_context(*arguments: Any, **options: Any) -> ssl.SSLContext:
        if arguments or set(options) != {"cafile"}:
            return create(*arguments, **options)
        file = str(options["cafile"])
        if file not in read:
            read[file] = create(cafile=file)
        return read[file]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", create_default_context)
        yield


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The URL of this test process's own PostgreSQL server."""
    # A short path, because that of a unix socket may have only about 100 bytes.
    data_dir = Path(tempfile.mkdtemp(prefix="mp-pg-", dir=in_memory()))
    # Nothing here has to survive a crash; the fault tests run servers with fsync on. The log
    # would take up to a gigabyte.
    options = {"fsync": "off", "max_connections": "200", "max_wal_size": "256MB"}
    try:
        with embedded_postgres(data_dir, options) as url:
            yield url
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)


@pytest.fixture(scope="session")
def migrated_template(cluster: str) -> str:
    name = "migrated_template"
    execute(cluster, f'CREATE DATABASE "{name}"')

    async def run() -> None:
        connection = await asyncpg.connect(database_url(cluster, name))
        try:
            await SCHEMA.migrate(connection)
        finally:
            await connection.close()

    asyncio.run(run())
    return name


@pytest.fixture
def migrated(cluster: str, migrated_template: str) -> Iterator[str]:
    """The URL of a database with the plugin's schema and no rows, dropped afterwards."""
    name = f"test_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}" TEMPLATE "{migrated_template}" STRATEGY FILE_COPY')
    try:
        yield database_url(cluster, name)
    finally:
        execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def database(cluster: str) -> Iterator[str]:
    """The URL of an empty database, dropped afterwards."""
    name = f"test_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}" STRATEGY FILE_COPY')
    try:
        yield database_url(cluster, name)
    finally:
        execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')
