"""A lock, a slow query, a hanging store, no free connection: fast 503s, health, recovery."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import perf_counter

import pytest

from tests.faults.cluster import Postgres
from tests.faults.consistency import assert_consistent
from tests.faults.health_probe import probing_health
from tests.faults.load import Load
from tests.faults.plugin import Plugin, running_plugin
from tests.faults.raw_http import Connection, Reply, open_many, request
from tests.faults.recovery import assert_recovers
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

# Statements, connections and whoever waits for one have a second, so that these tests are short.
IMPATIENT = ("--statement-timeout=1", "--connect-timeout=1", "--pool-timeout=1")
UNTOLD = "nobody is told 503"


@pytest.fixture
async def impatient(postgres: Postgres) -> AsyncIterator[Plugin]:
    async with running_plugin(postgres.url, *IMPATIENT, listen="127.0.0.1:0") as plugin:
        yield plugin


@asynccontextmanager
async def locked(server: Postgres) -> AsyncIterator[None]:
    """Somebody holds the table, as a careless ALTER TABLE does."""
    async with server.connect() as connection, connection.transaction():
        await connection.execute("LOCK TABLE memory_plugin.memory_records")
        yield


@asynccontextmanager
async def frozen(server: Postgres) -> AsyncIterator[None]:
    """The store neither responds nor closes connections."""
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


@pytest.mark.parametrize("fault", [locked, frozen])
@pytest.mark.parametrize("seconds", [3, pytest.param(30, marks=pytest.mark.slow)])
async def test_a_store_that_does_not_answer_means_503_and_health_still_answers(
    impatient: Plugin,
    postgres: Postgres,
    fault: Callable[[Postgres], AbstractAsyncContextManager[None]],
    seconds: float,
) -> None:
    async with Load([impatient.address]) as load:
        await load.serves()
        async with probing_health(impatient.address) as health:
            async with fault(postgres):
                since = perf_counter()
                await asyncio.sleep(seconds)
                await eventually(lambda: load.history.count("unavailable", since=since) > 0, UNTOLD)
                await health.answers_now(200, 503)
            await assert_recovers(load.history, since=perf_counter())
    health.assert_steady()
    await assert_consistent(load.history, impatient.address, postgres)
    assert load.history.count("reset") == load.history.count("unreachable") == 0
    assert impatient.alarms == []


@asynccontextmanager
async def unprivileged(postgres: Postgres, *flags: str) -> AsyncIterator[Plugin]:
    """A plugin whose role the database can restrict."""
    await postgres.execute(
        "CREATE ROLE plugin LOGIN",
        "GRANT USAGE ON SCHEMA memory_plugin TO plugin",
        "GRANT ALL ON ALL TABLES IN SCHEMA memory_plugin TO plugin",
    )
    url = postgres.url.replace("postgres@", "plugin@", 1)
    async with running_plugin(url, *flags, listen="127.0.0.1:0") as plugin:
        yield plugin


async def test_500_connections_with_a_slow_query_each_do_not_take_the_service_down(
    postgres: Postgres,
) -> None:
    async with unprivileged(postgres, *IMPATIENT) as plugin:
        await make_slow(postgres, namespace="custom:slow")
        crowd = await open_many(plugin.address, 500)
        is_over = asyncio.Event()

        async def insist(connection: Connection) -> None:
            while True:
                reply = await search(connection, "custom:slow")
                assert (reply.status, reply.code) == (503, "unavailable")
                assert int(reply.headers["retry-after"]) >= 1
                if is_over.is_set():
                    return

        try:
            async with probing_health(plugin.address) as health, asyncio.TaskGroup() as group:
                for connection in crowd:
                    group.create_task(insist(connection))
                # The store is well, only busy.
                for _ in range(3):
                    await health.answers_now(200)
                is_over.set()
            health.assert_steady()

            async def is_fast() -> bool:
                return (await search(crowd[0], "custom:fast")).status == 200

            await eventually(is_fast, "nothing is slow any more")
        finally:
            for connection in crowd:
                connection.close()
        assert plugin.alarms == []


async def test_no_connection_left_in_the_database_means_503_until_there_is_one(
    postgres: Postgres,
) -> None:
    async with unprivileged(postgres) as plugin:
        async with Load([plugin.address]) as load, probing_health(plugin.address) as health:
            await load.serves()
            await postgres.execute("ALTER ROLE plugin CONNECTION LIMIT 0")
            await postgres.terminate_clients("memory-plugin-postgres")
            since = perf_counter()
            await eventually(lambda: load.history.count("unavailable", since=since) > 0, UNTOLD)
            await health.answers_now(503)
            await postgres.execute("ALTER ROLE plugin CONNECTION LIMIT -1")
            await assert_recovers(load.history, since=perf_counter())
        health.assert_steady()
        await assert_consistent(load.history, plugin.address, postgres)
        assert plugin.alarms == []


async def make_slow(server: Postgres, *, namespace: str) -> None:
    """For the role `plugin`, reading this namespace takes a minute."""
    await server.execute(
        "INSERT INTO memory_plugin.memory_namespaces (name, kind)"
        f" VALUES ('{namespace}', 'custom')",
        "INSERT INTO memory_plugin.memory_records (namespace, content, kind, source)"
        f" VALUES ('{namespace}', 'slow', 'fact', 'user')",
        "CREATE FUNCTION memory_plugin.slowly(text) RETURNS boolean VOLATILE LANGUAGE sql AS"
        " $$ SELECT $1 <> 'slow' OR pg_sleep(60) IS NOT NULL $$",
        "ALTER TABLE memory_plugin.memory_records ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY slow ON memory_plugin.memory_records TO plugin"
        " USING (memory_plugin.slowly(content)) WITH CHECK (true)",
    )


async def search(connection: Connection, namespace: str) -> Reply:
    await connection.send(request("POST", "/v1/search", {"namespaces": [namespace]}))
    return await connection.answer()
