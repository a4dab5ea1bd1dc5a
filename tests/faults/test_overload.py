"""A lock, a slow query, a hanging store, no free connection: fast 503s, health, recovery."""

import asyncio
from collections import Counter
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

RECOVERY = 60.0
STATEMENT_TIMEOUT = 1.0
# A statement's time, the wait for a connection (1 s), and what a busy machine adds.
LONGEST_ANSWER = STATEMENT_TIMEOUT + 1.0 + 30.0
UNTOLD = "nobody is told 503"


@pytest.fixture
async def impatient(postgres: Postgres) -> AsyncIterator[Plugin]:
    """A plugin that gives a statement one second, so that these tests are short."""
    async with running_plugin(
        postgres.url, f"--statement-timeout={STATEMENT_TIMEOUT}", listen="127.0.0.1:0"
    ) as plugin:
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
    async with Load([impatient.address], timeout=LONGEST_ANSWER) as load:
        await asyncio.sleep(0.5)
        async with probing_health(impatient.address) as health:
            async with fault(postgres):
                since = perf_counter()
                await asyncio.sleep(seconds)
                await eventually(lambda: load.history.count("unavailable", since=since) > 0, UNTOLD)
            await assert_recovers(load.history, since=perf_counter(), within=RECOVERY)
    health.assert_steady()
    await assert_consistent(load.history, impatient.address, postgres)
    assert load.history.count("reset") == load.history.count("unreachable") == 0
    assert impatient.alarms == []


@pytest.fixture
async def unprivileged(postgres: Postgres) -> AsyncIterator[Plugin]:
    """A plugin whose role the database can restrict."""
    await postgres.execute(
        "CREATE ROLE plugin LOGIN",
        "GRANT USAGE ON SCHEMA memory_plugin TO plugin",
        "GRANT ALL ON ALL TABLES IN SCHEMA memory_plugin TO plugin",
    )
    async with running_plugin(
        postgres.url.replace("postgres@", "plugin@", 1),
        f"--statement-timeout={STATEMENT_TIMEOUT}",
        listen="127.0.0.1:0",
    ) as plugin:
        yield plugin


async def test_500_connections_with_a_slow_query_each_do_not_take_the_service_down(
    unprivileged: Plugin, postgres: Postgres
) -> None:
    await make_slow(postgres, namespace="custom:slow")
    crowd = await open_many(unprivileged.address, 500)
    try:
        async with probing_health(unprivileged.address) as health:
            answers = await asyncio.gather(*(search(one, "custom:slow") for one in crowd))
        for reply in answers:
            assert (reply.status, reply.code) == (503, "unavailable")
            assert int(reply.headers["retry-after"]) >= 1
        health.assert_steady()
        # A stalled machine may cost an answer or two; if the slow queries were in the way, all
        # would fail.
        told = Counter(health.statuses)
        assert told[200] > told[503], "the store is well, only busy"
        async with asyncio.timeout(RECOVERY):  # nothing is slow any more
            while (await search(crowd[0], "custom:fast")).status != 200:
                pass
    finally:
        for connection in crowd:
            connection.close()
    assert unprivileged.alarms == []


async def test_no_connection_left_in_the_database_means_503_until_there_is_one(
    unprivileged: Plugin, postgres: Postgres
) -> None:
    async with (
        Load([unprivileged.address], timeout=LONGEST_ANSWER) as load,
        probing_health(unprivileged.address) as health,
    ):
        await asyncio.sleep(0.3)
        await postgres.execute("ALTER ROLE plugin CONNECTION LIMIT 0")
        await postgres.terminate_clients("memory-plugin-postgres")
        since = perf_counter()
        await eventually(lambda: load.history.count("unavailable", since=since) > 0, UNTOLD)
        await postgres.execute("ALTER ROLE plugin CONNECTION LIMIT -1")
        await assert_recovers(load.history, since=perf_counter(), within=RECOVERY)
    health.assert_steady()
    await assert_consistent(load.history, unprivileged.address, postgres)
    assert unprivileged.alarms == []


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
