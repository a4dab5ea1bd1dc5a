"""A store that is slow, full, read-only or away: 503 with Retry-After, quickly, and recovery."""

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import httpx
import pytest

from contract import DegradedHealth, Error
from plugin_postgres.schema import SCHEMA
from postgres.embedded import embedded_postgres
from tests.integration.plugin_postgres import plugin
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

A = "/v1/namespaces/workspace:a"
WRITE = {"content": "x", "kind": "fact", "source": "user"}
SEARCH = {"namespaces": ["workspace:a"]}


def unavailable(answer: httpx.Response) -> str:
    assert answer.status_code == 503, answer.text
    assert int(answer.headers["retry-after"]) >= 1
    error = Error.model_validate_json(answer.content)
    assert error.code == "unavailable"
    return error.message


@asynccontextmanager
async def everything_locked(url: str) -> AsyncIterator[None]:
    """Every statement on the plugin's tables waits."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE memory_plugin.memory_namespaces")
            yield
    finally:
        await connection.close()


async def test_a_statement_over_its_timeout_is_503_and_the_next_one_works(migrated: str) -> None:
    async with plugin.http(migrated, statement_timeout=2) as http:
        await http.put(A, json={"kind": "workspace"})
        async with everything_locked(migrated):
            for answer in await asyncio.gather(
                http.post("/v1/search", json=SEARCH),
                http.post(f"{A}/memories", json=WRITE),
                http.put(A, json={"kind": "workspace"}),
            ):
                # Whose clock runs out first, the store's or, a second later, ours.
                assert unavailable(answer) in (
                    "the store took too long",
                    "the store did not answer in time",
                )
            assert (await http.get("/v1/health")).status_code == 200
        assert (await http.post(f"{A}/memories", json=WRITE)).status_code == 201


async def test_the_store_itself_ends_a_statement_over_its_timeout(migrated: str) -> None:
    async with plugin.pool_connection(migrated, statement_timeout=2) as connection:
        assert await connection.fetchval("SHOW statement_timeout") == "2s"


async def waiting_for_locks(url: str, count: int) -> None:
    connection = await asyncpg.connect(url)
    query = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )

    async def all_wait() -> bool:
        return bool(await connection.fetchval(query) >= count)

    await eventually(all_wait)
    await connection.close()


async def connected_search(http: httpx.AsyncClient) -> httpx.Response:
    """A search that waits for its connection however long it takes to make one."""
    while (answer := await http.post("/v1/search", json=SEARCH)).status_code == 503:
        pass
    return answer


async def test_an_exhausted_pool_is_503_at_once_and_health_still_answers(migrated: str) -> None:
    async with plugin.http(migrated, pool_size=2, pool_timeout=2, statement_timeout=60) as http:
        async with everything_locked(migrated):
            stuck = [asyncio.create_task(connected_search(http)) for _ in range(2)]
            await waiting_for_locks(migrated, 2)
            answers = await asyncio.gather(
                *(http.post("/v1/search", json=SEARCH) for _ in range(9))
            )
            assert {unavailable(answer) for answer in answers} == {
                "every connection to the store is busy"
            }
            assert not any(task.done() for task in stuck)
            assert (await http.get("/v1/health")).status_code == 200
        assert {answer.status_code for answer in await asyncio.gather(*stuck)} == {200}


async def test_a_store_that_goes_down_is_503_and_recovers_when_it_is_back(
    migrated: str, cluster: str
) -> None:
    name = migrated.split("/")[3].split("?")[0]
    admin = await asyncpg.connect(cluster)
    async with plugin.http(migrated) as http:
        await http.put(A, json={"kind": "workspace"})
        await admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        await admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
        )
        for _ in range(2):
            unavailable(await http.post(f"{A}/memories", json=WRITE))
            unavailable(await http.post("/v1/search", json=SEARCH))
            down = await http.get("/v1/health")
            unavailable(down)
            degraded = DegradedHealth.model_validate_json(down.content)
            assert (degraded.status, degraded.version) == ("degraded", "1.0.0")
            assert "memory_plugin_store_up 0.0" in (await http.get("/metrics")).text
        await admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        assert (await http.get("/v1/health")).json()["status"] == "ok"
        assert (await http.post(f"{A}/memories", json=WRITE)).status_code == 201
        assert len((await http.post("/v1/search", json=SEARCH)).json()["memories"]) == 1
    await admin.close()


async def test_a_plugin_starts_while_its_store_is_down() -> None:
    async with plugin.http("postgresql://u:secret@127.0.0.1:1/none") as http:
        unavailable(await http.get("/v1/health"))
        unavailable(await http.post(f"{A}/memories", json=WRITE))
        assert (await http.get("/metrics")).status_code == 200


@pytest.fixture
def own_cluster() -> Iterator[str]:
    with (
        tempfile.TemporaryDirectory(prefix="mp-own-", ignore_cleanup_errors=True) as made,
        embedded_postgres(Path(made), {"fsync": "off"}) as url,
    ):
        yield url


async def answered(http: httpx.AsyncClient, status: int) -> None:
    """Wait until a write gets this status: a changed setting reaches sessions a bit later."""

    async def is_answered() -> bool:
        return (await http.post(f"{A}/memories", json=WRITE)).status_code == status

    await eventually(is_answered)


async def test_a_primary_that_becomes_read_only_is_left_for_one_that_is_not(
    own_cluster: str,
) -> None:
    admin = await asyncpg.connect(own_cluster)
    await SCHEMA.migrate(admin)
    async with plugin.http(own_cluster) as http:
        await http.put(A, json={"kind": "workspace"})
        await admin.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        await admin.execute("SELECT pg_reload_conf()")
        await answered(http, 503)
        # New connections are refused too: they look for a server that accepts writes.
        unavailable(await http.post(f"{A}/memories", json=WRITE))
        await admin.execute("ALTER SYSTEM RESET default_transaction_read_only")
        await admin.execute("SELECT pg_reload_conf()")
        await answered(http, 201)
    await admin.close()


async def test_of_several_hosts_the_one_that_accepts_writes_is_used(
    migrated: str, cluster: str
) -> None:
    socket = cluster.split("host=")[1]
    name = migrated.split("/")[3].split("?")[0]
    several = f"postgresql://postgres@/{name}?host=/nowhere,{socket}&port=5432,5432"
    async with plugin.http(several) as http:
        assert (await http.get("/v1/health")).status_code == 200
        assert (await http.put(A, json={"kind": "workspace"})).status_code == 200


async def test_large_propagations_are_not_put_into_one_statement(migrated: str) -> None:
    large = {**WRITE, "propagation": {"x": "y" * 400_000}}
    async with plugin.http(migrated) as http:
        await http.put(A, json={"kind": "workspace"})
        written = await asyncio.gather(*(http.post(f"{A}/memories", json=large) for _ in range(12)))
        assert {answer.status_code for answer in written} == {201}
        metrics = (await http.get("/metrics")).text
        # Half a megabyte at most, so one or two of them.
        assert 'memory_plugin_write_batch_rows_bucket{le="2.0"}' in metrics
        [statements] = re.findall(r'rows_bucket{le="2.0"} (\S+)', metrics)
        [total] = re.findall(r"write_batch_rows_count (\S+)", metrics)
        assert statements == total
