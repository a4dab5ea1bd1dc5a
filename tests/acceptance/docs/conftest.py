"""The databases that the pages speak of."""

import asyncio
import uuid
from collections.abc import Iterator

import asyncpg
import pytest

from demo.legacy import create, imagine
from tests.acceptance.docs.sandbox import LEGACY_URL, MEMORY_URL, RESTORED_URL
from tests.conftest import database_url, execute


@pytest.fixture
def databases(cluster: str) -> Iterator[dict[str, str]]:
    """By their address on the pages: a legacy one like the demo's, smaller, and two empty ones."""
    names = {
        address: f"page_{uuid.uuid4().hex}" for address in (LEGACY_URL, MEMORY_URL, RESTORED_URL)
    }
    urls = {address: database_url(cluster, name) for address, name in names.items()}
    execute(cluster, *(f'CREATE DATABASE "{name}"' for name in names.values()))
    asyncio.run(_fill(urls[LEGACY_URL]))
    try:
        yield urls
    finally:
        execute(cluster, *(f'DROP DATABASE "{name}" WITH (FORCE)' for name in names.values()))


async def _fill(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await create(connection, imagine(300))
    finally:
        await connection.close()
