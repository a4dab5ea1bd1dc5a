"""A separate PostgreSQL and plugin for each test, because these tests kill them."""

import asyncio
import resource
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from plugin_postgres.schema import SCHEMA
from tests.faults.cluster import Postgres, directory, initdb, running_postgres
from tests.faults.plugin import Plugin, running_plugin


@pytest.fixture(scope="session", autouse=True)
def _many_connections() -> None:
    """These tests open more than a shell allows a process by default."""
    _, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """The data of a stopped server with the plugin's schema, to be copied."""
    with directory("template") as made:
        server = Postgres(made)
        initdb(server)

        async def prepare() -> None:
            server.start()
            await server.ready()
            async with server.connect() as connection:
                await SCHEMA.migrate(connection)

        try:
            asyncio.run(prepare())
        finally:
            server.stop()
        yield server.data


@pytest.fixture
async def postgres(template: Path) -> AsyncIterator[Postgres]:
    async with running_postgres(template) as server:
        yield server


@pytest.fixture
async def plugin(postgres: Postgres) -> AsyncIterator[Plugin]:
    async with running_plugin(postgres.url) as process:
        yield process


@pytest.fixture
async def tcp_plugin(postgres: Postgres) -> AsyncIterator[Plugin]:
    """Like `plugin`, on a port instead of a unix socket."""
    async with running_plugin(postgres.url, listen="127.0.0.1:0") as process:
        yield process
