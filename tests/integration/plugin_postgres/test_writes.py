"""The write queue: groups, repeats of an id, claims of two namespaces, poisoned rows, races."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest

from contract import (
    BatchFailure,
    BatchWrite,
    Forbidden,
    MemoryClient,
    MemoryWrite,
    NamespaceUpsert,
    NotFound,
    Unavailable,
)
from plugin_postgres.database import Database
from plugin_postgres.metrics import Metrics
from plugin_postgres.pending import PendingList
from plugin_postgres.settings import Settings
from plugin_postgres.writes import Write, WriteQueue
from tests import timeouts
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

A, B = "workspace:a", "workspace:b"
LONG = 64 * 1024  # worth a lane of its own


@pytest.fixture
async def store(migrated: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(migrated)
    for name in (A, B):
        await connection.execute(
            "INSERT INTO memory_plugin.memory_namespaces (name, kind) VALUES ($1, 'workspace')",
            name,
        )
    yield connection
    await connection.close()


@pytest.fixture
async def queue(migrated: str) -> AsyncIterator[WriteQueue]:
    database = Database(Settings(database_url=migrated, **timeouts.LIMITS))
    await database.open()
    yield WriteQueue(database, PendingList(database), Metrics(), limit=100)
    await database.close()


def write(content: str, namespace: str = A, key: UUID | None = None, **fields: Any) -> Write:
    values: dict[str, Any] = {
        "expires_at": None,
        "propagation": None,
        "pin": False,
        "created_at": None,
        "embedding": None,
        "size": len(content),
    }
    return Write(
        id=key or uuid4(),
        namespace=namespace,
        content=content,
        kind="fact",
        source="agent",
        **(values | fields),
    )


async def outcomes(queue: WriteQueue, *writes: Write) -> list[str]:
    done = await asyncio.gather(*map(queue.submit, writes), return_exceptions=True)
    return [type(result).__name__ if result else "written" for result in done]


async def stored(store: asyncpg.Connection) -> dict[UUID, tuple[str, str]]:
    rows = await store.fetch("SELECT id, namespace, content FROM memory_plugin.memory_records")
    return {row["id"]: (row["namespace"], row["content"]) for row in rows}


async def test_writes_that_arrive_together_go_in_few_statements(
    queue: WriteQueue, store: asyncpg.Connection
) -> None:
    writes = [write(f"number {number}") for number in range(50)]
    assert set(await outcomes(queue, *writes)) == {"written"}
    assert len(await stored(store)) == 50
    # One xmin is one transaction.
    transactions = await store.fetchval(
        "SELECT count(DISTINCT xmin::text) FROM memory_plugin.memory_records"
    )
    assert transactions <= 3


async def test_of_several_writes_with_one_id_the_last_wins_and_the_first_dates_it(
    queue: WriteQueue, store: asyncpg.Connection
) -> None:
    key, made = uuid4(), datetime(2020, 1, 1, tzinfo=UTC)
    done = await outcomes(
        queue,
        write("first", key=key, created_at=made),
        write("second", key=key, created_at=datetime(2021, 1, 1, tzinfo=UTC)),
        write("last", key=key),
    )
    assert done == ["written"] * 3
    assert await stored(store) == {key: (A, "last")}
    assert await store.fetchval("SELECT created_at FROM memory_plugin.memory_records") == made


async def test_two_namespaces_that_claim_one_id_in_one_group_get_one_winner(
    queue: WriteQueue, store: asyncpg.Connection
) -> None:
    key = uuid4()
    done = await outcomes(
        queue,
        write("mine", A, key),
        write("stolen", B, key),
        write("mine again", A, key),
    )
    assert done == ["written", "Forbidden", "written"]
    assert await stored(store) == {key: (A, "mine again")}


async def test_of_many_writes_of_an_id_across_groups_the_last_wins(
    queue: WriteQueue, store: asyncpg.Connection
) -> None:
    """Large enough for a group each, so that two lanes are at it at the same time."""
    keys = [uuid4() for _ in range(3)]
    padding = "x " * 150_000
    writes = [write(f"{number} {padding}", key=key) for number in range(4) for key in keys]
    assert set(await outcomes(queue, *writes)) == {"written"}
    assert {content[0] for _, content in (await stored(store)).values()} == {"3"}


async def test_a_single_write_does_not_wait_for_a_batch(
    queue: WriteQueue, store: asyncpg.Connection
) -> None:
    padding = "x " * 150_000
    bulk = [write(padding) for _ in range(10)]
    queue.submit_all(bulk)
    await queue.submit(write("urgent"))
    assert not all(one.done.done() for one in bulk)
    await asyncio.gather(*(one.done for one in bulk))
    assert len(await stored(store)) == 11


async def test_a_missing_namespace_fails_alone(
    queue: WriteQueue, store: asyncpg.Connection
) -> None:
    done = await outcomes(queue, write("one"), write("lost", "team:none"), write("two", B))
    assert done == ["written", "NotFound", "written"]
    assert len(await stored(store)) == 2


async def test_a_row_that_the_database_refuses_fails_alone(
    queue: WriteQueue, store: asyncpg.Connection
) -> None:
    await store.execute(
        "ALTER TABLE memory_plugin.memory_records"
        " ADD CONSTRAINT no_poison CHECK (content <> 'poison')"
    )
    writes = [write("poison" if number in (3, 17) else f"{number}") for number in range(20)]
    done = await outcomes(queue, *writes)
    assert [place for place, outcome in enumerate(done) if outcome != "written"] == [3, 17]
    assert done[3] == "BadRequest"
    assert len(await stored(store)) == 18


async def test_a_repeated_write_rewrites_nothing(
    queue: WriteQueue, store: asyncpg.Connection
) -> None:
    same = write("same", propagation='{"a": [1, 1.0]}', pin=True)
    await outcomes(queue, same)
    before = await store.fetchval("SELECT xmin::text FROM memory_plugin.memory_records")
    again = write("same", key=same.id, propagation='{"a": [1, 1.0]}', pin=True)
    assert await outcomes(queue, again) == ["written"]
    after = await store.fetchval("SELECT xmin::text FROM memory_plugin.memory_records")
    assert after == before


async def test_a_change_of_any_field_is_written(
    queue: WriteQueue, store: asyncpg.Connection
) -> None:
    key = uuid4()
    await outcomes(queue, write("same", key=key, propagation='{"a": 1}'))
    for changed in ({"propagation": '{"a": 1.0}'}, {"pin": True}, {"propagation": None}):
        before = await store.fetchval("SELECT xmin::text FROM memory_plugin.memory_records")
        await outcomes(queue, write("same", key=key, **changed))
        after = await store.fetchval("SELECT xmin::text FROM memory_plugin.memory_records")
        assert after != before, changed


class Gated(WriteQueue):
    """Its statements wait for the gate; `groups` are the contents that each of them wrote."""

    def __init__(self, url: str) -> None:
        database = Database(Settings(database_url=url, **timeouts.LIMITS))
        super().__init__(database, PendingList(database), Metrics(), limit=100)
        self.gate = asyncio.Event()
        self.groups: list[list[str]] = []

    async def _insert(self, writes: list[Write]) -> set[UUID]:
        self.groups.append([one.content for one in writes])
        await self.gate.wait()
        return {one.id for one in writes}


async def test_what_arrives_during_a_statement_goes_into_the_next_one(migrated: str) -> None:
    queue = Gated(migrated)
    done = []
    for number in range(5):
        done.append(queue.submit(write(str(number), size=100)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    queue.gate.set()
    await asyncio.wait_for(asyncio.gather(*done), 60)
    assert queue.groups == [["0"], ["1", "2", "3", "4"]]


async def test_nobody_waits_behind_a_long_text(migrated: str) -> None:
    queue = Gated(migrated)
    long = queue.submit(write("long", size=LONG))
    await asyncio.sleep(0)
    short = queue.submit(write("short", size=100))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert queue.groups == [["long"], ["short"]]
    queue.gate.set()
    await asyncio.wait_for(asyncio.gather(long, short), 60)


async def test_a_write_at_the_moment_the_queue_becomes_idle_is_not_lost(
    migrated: str,
) -> None:
    """Both lanes end in the same step, and a caller writes again in the next."""
    queue = Gated(migrated)

    async def caller(writes: int) -> None:
        for _ in range(writes):
            await queue.submit(write("x", size=LONG))

    callers = []
    for writes in (2, 1):
        callers.append(asyncio.create_task(caller(writes)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    queue.gate.set()
    await asyncio.wait_for(asyncio.gather(*callers), 60)


@pytest.mark.usefixtures("store")
async def test_too_many_waiting_writes_are_refused_at_once(queue: WriteQueue) -> None:
    done = await asyncio.gather(
        *(_submitted(queue, write(str(number))) for number in range(150)), return_exceptions=True
    )
    refused = [result for result in done if result is not None]
    assert len(refused) == 50
    assert {str(result) for result in refused} == {"too many writes are waiting"}


@pytest.mark.usefixtures("store")
async def test_a_batch_that_does_not_fit_is_refused_as_a_whole(queue: WriteQueue) -> None:
    first = [write("x") for _ in range(150)]
    queue.submit_all(first)  # an idle queue takes any batch
    with pytest.raises(Unavailable, match="too many writes are waiting"):
        queue.submit_all([write("y") for _ in range(10)])
    await asyncio.gather(*(one.done for one in first))


async def _submitted(queue: WriteQueue, one: Write) -> None:
    await queue.submit(one)


async def test_draining_waits_for_the_last_commit(
    queue: WriteQueue, store: asyncpg.Connection
) -> None:
    for number in range(30):
        queue.submit(write(str(number)))
    await queue.drain()
    assert len(await stored(store)) == 30


async def test_a_batch_answers_each_write_in_order(client: MemoryClient) -> None:
    await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
    await client.put_namespace(B, NamespaceUpsert(kind="workspace"))
    taken = await client.write(A, MemoryWrite(content="taken", kind="fact", source="user"))
    made = datetime(2020, 2, 29, 12, tzinfo=UTC)

    def one(namespace: str, **fields: Any) -> BatchWrite:
        return BatchWrite(namespace=namespace, content="x", kind="fact", source="user", **fields)

    results = await client.batch(
        [one(A, created_at=made), one("team:none"), one(B, id=taken.id), one(B)]
    )
    codes = [r.error.code if isinstance(r, BatchFailure) else r.namespace for r in results]
    assert codes == [A, "not_found", "forbidden", B]
    listed = [memory async for memory in client.list_memories([A])]
    assert made in [getattr(memory, "created_at", None) for memory in listed]


async def test_writers_of_two_plugins_never_move_a_memory_between_namespaces(
    migrated: str, store: asyncpg.Connection
) -> None:
    """Two plugin processes, two namespaces, a few ids that everybody wants."""
    keys = [uuid4() for _ in range(4)]
    async with plugin.memory_client(migrated) as one, plugin.memory_client(migrated) as two:
        won: dict[UUID, set[str]] = {key: set() for key in keys}

        async def claim(client: MemoryClient, namespace: str, key: UUID) -> None:
            body = MemoryWrite(content=namespace, kind="fact", source="agent", id=key)
            try:
                await client.write(namespace, body)
            except Forbidden:
                return
            won[key].add(namespace)

        claims = [
            claim(client, namespace, key)
            for client in (one, two)
            for namespace in (A, B)
            for key in keys * 5
        ]
        random.shuffle(claims)
        await asyncio.gather(*claims)
    rows = await stored(store)
    assert won == {key: {rows[key][0]} for key in keys}
    assert all(namespace == content for namespace, content in rows.values())


async def test_writes_race_with_the_deletion_of_their_namespace(
    client: MemoryClient, store: asyncpg.Connection
) -> None:
    """Every write is either answered 404, or was there and went with the namespace."""
    for _ in range(5):
        await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
        begun = asyncio.Event()

        async def writer(begun: asyncio.Event) -> None:
            with suppress(NotFound):
                while True:
                    await client.write(A, MemoryWrite(content="x", kind="fact", source="agent"))
                    begun.set()

        writers = [asyncio.create_task(writer(begun)) for _ in range(4)]
        await begun.wait()
        await client.delete_namespace(A)
        await asyncio.gather(*writers)
        assert await stored(store) == {}


async def test_what_was_acknowledged_is_there_however_often_connections_break(
    http: httpx.AsyncClient, store: asyncpg.Connection
) -> None:
    acknowledged: list[UUID] = []
    statuses: set[int] = set()
    killing = True

    async def writer() -> None:
        while killing or len(acknowledged) < 10:
            body = {"content": "x", "kind": "fact", "source": "agent", "id": str(uuid4())}
            answer = await http.post(f"/v1/namespaces/{A}/memories", json=body)
            statuses.add(answer.status_code)
            if answer.status_code == 201:
                acknowledged.append(UUID(body["id"]))

    writers = [asyncio.create_task(writer()) for _ in range(4)]
    kills = 0
    while kills < 10 or 503 not in statuses:
        await asyncio.sleep(0.02)
        kills += await store.fetchval(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE application_name = 'memory-plugin-postgres' AND datname = current_database()"
        )
    killing = False
    await asyncio.gather(*writers)
    assert statuses == {201, 503}
    assert set(acknowledged) <= (await stored(store)).keys()
