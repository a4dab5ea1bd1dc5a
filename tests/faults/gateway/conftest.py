"""A separate PostgreSQL, plugin and gateway for each test, because these tests kill them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.schema import SCHEMA
from tests.faults.cluster import Postgres, copy_database, directory


@pytest.fixture(scope="session")
def gateway_template(template: Path) -> Iterator[Path]:
    """The data of a stopped server with the schemas of the plugin and the gateway."""
    with directory("gwt") as made:
        server = Postgres(made)
        copy_database(template, server)

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
