"""The legacy database that the pages speak of."""

import asyncio

import asyncpg
import pytest

from demo.legacy import create, imagine


@pytest.fixture
def legacy(database: str) -> str:
    """A database like the demo's, smaller."""

    async def fill() -> None:
        connection = await asyncpg.connect(database)
        try:
            await create(connection, imagine(300))
        finally:
            await connection.close()

    asyncio.run(fill())
    return database
