from collections.abc import AsyncIterator

import httpx
import pytest

from contract import MemoryClient
from tests.integration.plugin_postgres import plugin


@pytest.fixture
async def client(migrated: str) -> AsyncIterator[MemoryClient]:
    """A client of the plugin on an empty database."""
    async with plugin.memory_client(migrated) as client:
        yield client


@pytest.fixture
async def http(migrated: str) -> AsyncIterator[httpx.AsyncClient]:
    """Raw HTTP to the plugin on an empty database."""
    async with plugin.http(migrated) as client:
        yield client
