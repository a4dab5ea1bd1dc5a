"""The plugin in this process, on its own database, with a client."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import asyncpg
import httpx
from starlette.applications import Starlette

from contract import MemoryClient
from plugin_postgres import sql
from plugin_postgres.app import create_app
from plugin_postgres.database import Database
from plugin_postgres.schema import SCHEMA
from plugin_postgres.settings import Settings
from tests import timeouts
from tests.conftest import database_url as url_of
from tests.conftest import execute


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


@contextmanager
def filled_database(cluster: str, template: str, rows: str) -> Iterator[str]:
    """The URL of a database of its own, after the statements of `rows`.

    What they wrote is merged into the word indexes: if autovacuum did that later, a search would
    read many entries twice until then.
    """
    name = f"filled_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    url = url_of(cluster, name)

    async def fill() -> None:
        async with pool_connection(url) as connection:
            await connection.execute("SET statement_timeout = 0")
            await connection.execute(rows, timeout=300)
            await connection.fetch(sql.load("sort_in_pending"), 0)

    asyncio.run(fill())
    yield url
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')
