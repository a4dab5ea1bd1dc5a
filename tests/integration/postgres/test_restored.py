"""A schema that is replaced under a running server, as by a restore: it goes on by itself."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from postgres.database import Database
from postgres.errors import StoreUnavailable
from tests import timeouts
from tests.toy.settings import Settings

pytestmark = pytest.mark.anyio

REPLACE = """
DROP SCHEMA IF EXISTS shop CASCADE;
CREATE SCHEMA shop;
CREATE TYPE shop.item AS (name text, count integer);
CREATE TABLE shop.items (name text, count integer);
"""
ADD = "INSERT INTO items SELECT * FROM unnest($1::item[]) RETURNING name"


@pytest.fixture
async def operator(database: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database)
    await connection.execute(REPLACE)
    yield connection
    await connection.close()


@pytest.fixture
async def store(
    database: str,
    operator: asyncpg.Connection,  # noqa: ARG001  (it makes the schema)
) -> AsyncIterator[Database]:
    settings = Settings(database_url=database, **timeouts.LIMITS)
    store = Database(settings, name="test", search_path="shop")
    yield store
    await store.close()


async def names(operator: asyncpg.Connection) -> list[str]:
    return [row["name"] for row in await operator.fetch("SELECT name FROM shop.items ORDER BY 1")]


async def test_a_statement_is_run_again_on_a_new_connection(
    store: Database, operator: asyncpg.Connection
) -> None:
    await store.fetch(ADD, [("apple", 1)])
    await operator.execute(REPLACE)
    assert [row["name"] for row in await store.fetch(ADD, [("pear", 2)])] == ["pear"]
    assert await names(operator) == ["pear"]


async def test_every_connection_goes_on(store: Database, operator: asyncpg.Connection) -> None:
    async def add(name: str) -> str:
        found: str = await store.fetchval(f"{ADD}, pg_sleep(0.01)", [(name, 1)])
        return found

    wanted = [str(number) for number in range(8)]
    assert await asyncio.gather(*map(add, wanted)) == wanted
    assert store.usage()[0] > 1
    await operator.execute(REPLACE)
    assert await asyncio.gather(*map(add, wanted)) == wanted
    assert await names(operator) == wanted


async def test_a_transaction_fails_once(store: Database, operator: asyncpg.Connection) -> None:
    async def add(name: str) -> None:
        async with store.transaction() as connection:
            await connection.fetch(ADD, [(name, 1)])

    await add("apple")
    await operator.execute(REPLACE)
    with pytest.raises(StoreUnavailable):
        await add("pear")
    await add("plum")
    assert await names(operator) == ["plum"]


async def test_while_it_is_missing_connections_are_kept(
    store: Database, operator: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postgres.database._RENEWAL_SECONDS", 60.0)
    await store.fetch(ADD, [("apple", 1)])
    await operator.execute("DROP SCHEMA shop CASCADE")
    with pytest.raises(StoreUnavailable):
        await store.fetch(ADD, [("pear", 1)])
    before = await store.fetchval("SELECT pg_backend_pid()")
    with pytest.raises(StoreUnavailable):
        await store.fetch(ADD, [("pear", 1)])
    assert await store.fetchval("SELECT pg_backend_pid()") == before


@pytest.mark.parametrize("wrong", ["SELEC 1", "SELECT to_tsquery('simple', 'a b')"])
async def test_a_statement_that_was_never_right_keeps_the_connections(
    store: Database, wrong: str
) -> None:
    before = await store.fetchval("SELECT pg_backend_pid()")
    with pytest.raises(StoreUnavailable):
        await store.fetch(wrong)
    assert await store.fetchval("SELECT pg_backend_pid()") == before
