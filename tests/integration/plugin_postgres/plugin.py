"""The plugin in this process, on its own database, with a client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
from starlette.applications import Starlette

from contract import MemoryClient
from plugin_postgres.app import create_app
from plugin_postgres.database import Database
from plugin_postgres.schema import SCHEMA
from plugin_postgres.settings import Settings
from tests import timeouts


@asynccontextmanager
async def serving(database_url: str, **settings: Any) -> AsyncIterator[Starlette]:
    """The application, started and stopped as a server would."""
    own = {**timeouts.LIMITS, **settings}
    app = create_app(Settings(database_url=database_url, **own))
    async with app.router.lifespan_context(app):
        yield app


@asynccontextmanager
async def http(database_url: str, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Raw HTTP, for what the client would never send."""
    async with (
        serving(database_url, **settings) as app,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://plugin", timeout=60
        ) as client,
    ):
        yield client


@asynccontextmanager
async def memory_client(database_url: str, **settings: Any) -> AsyncIterator[MemoryClient]:
    """The contract's client, without retries, so that no failure is hidden."""
    async with (
        serving(database_url, **settings) as app,
        MemoryClient(
            "http://plugin",
            attempts=1,
            timeout=60,
            token=settings.get("token"),
            transport=httpx.ASGITransport(app),
        ) as client,
    ):
        yield client


@asynccontextmanager
async def without_pgvector(database_url: str) -> AsyncIterator[MemoryClient]:
    """The plugin with a role that may not create the extension, on a fresh database."""
    connection = await asyncpg.connect(database_url)
    await SCHEMA.migrate(connection)
    await connection.close()
    async with memory_client(database_url) as client:
        yield client


@asynccontextmanager
async def pool_connection(database_url: str, **settings: Any) -> AsyncIterator[asyncpg.Connection]:
    """A connection like those that the plugin uses."""
    database = Database(Settings(database_url=database_url, **{**timeouts.LIMITS, **settings}))
    await database.open()
    try:
        async with database.connection() as connection:
            yield connection
    finally:
        await database.close()
