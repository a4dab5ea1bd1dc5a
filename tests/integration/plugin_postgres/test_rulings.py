"""The rulings of the contract page, each by its number."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest

from contract import (
    BadRequest,
    Forbidden,
    Memory,
    MemoryClient,
    MemoryWrite,
    NamespacePatch,
    NamespaceUpsert,
    NotFound,
    SearchRequest,
)
from tests.integration.plugin_postgres import plugin
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

A, B = "workspace:a", "workspace:b"
WORKSPACE = NamespaceUpsert(kind="workspace")


def fact(content: str, **fields: Any) -> MemoryWrite:
    return MemoryWrite(content=content, kind="fact", source="agent", **fields)


async def found(client: MemoryClient, *namespaces: str, **fields: Any) -> list[Memory]:
    answer = await client.search(SearchRequest(namespaces=list(namespaces or (A, B)), **fields))
    return answer.memories


async def contents(client: MemoryClient, *namespaces: str, **fields: Any) -> list[str]:
    return [memory.content for memory in await found(client, *namespaces, **fields)]


async def passed(moment: datetime) -> None:
    await eventually(lambda: datetime.now(UTC) > moment)  # a sleep goes by another clock


async def expire(client: MemoryClient, namespace: str) -> None:
    moment = datetime.now(UTC) + timedelta(milliseconds=200)
    await client.patch_namespace(namespace, NamespacePatch(expires_at=moment))
    await passed(moment)


async def test_ruling_1_write_to_a_namespace_that_was_never_put_is_404(
    client: MemoryClient,
) -> None:
    with pytest.raises(NotFound, match=A):
        await client.write(A, fact("x"))


async def test_ruling_2_a_known_id_is_replaced_as_a_whole_and_keeps_created_at(
    client: MemoryClient,
) -> None:
    await client.put_namespace(A, WORKSPACE)
    key = uuid4()
    later = datetime(2100, 1, 1, tzinfo=UTC)
    full = fact("old", id=key, pin=True, expires_at=later, propagation={"to": ["b"]})
    await client.write(A, full)
    [before] = await found(client)
    replaced = MemoryWrite(content="new", kind="summary", source="user", id=key)
    assert (await client.write(A, replaced)).id == key
    [after] = await found(client)
    assert (after.content, after.kind, after.source) == ("new", "summary", "user")
    assert (after.expires_at, after.propagation, bool(after.pin)) == (None, None, False)
    assert after.created_at == before.created_at


async def test_ruling_2_an_id_of_another_namespace_is_403_and_nothing_changes(
    client: MemoryClient,
) -> None:
    for name in (A, B):
        await client.put_namespace(name, WORKSPACE)
    key = uuid4()
    await client.write(A, fact("mine", id=key))
    with pytest.raises(Forbidden):
        await client.write(B, fact("stolen", id=key))
    assert await contents(client) == ["mine"]
    assert await contents(client, B) == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (rb'{"content":"x","kind":"fact","source":"user","id":"no-uuid"}', "id"),
        (rb'{"content":"a\u0000b","kind":"fact","source":"user"}', "content"),
        (rb'{"content":"\ud800","kind":"fact","source":"user"}', "content"),
        (rb'{"content":"x","kind":"fact","source":"user","embedding":[NaN]}', "embedding"),
        (rb'{"content":"x","kind":"fact","source":"user","embedding":[1e400]}', "embedding"),
        (rb'{"content":"x","kind":"fact","source":"user","embedding":[1e39]}', "embedding"),
        (rb'{"content":"x","kind":"fact","source":"user","pin":"yes"}', "pin"),
        (rb'{"content":"x","kind":"poem","source":"user"}', "kind"),
        (rb'{"content":"x","kind":"fact","source":"user","expires_at":"tomorrow"}', "expires_at"),
        (rb'{"content":"x","kind":"fact","source":"user","propagation":[]}', "propagation"),
        (rb'{"content":5,"kind":"fact","source":"user"}', "content"),
        (rb'{"content":" ","kind":"fact","source":"user"}', "content"),
        (rb'{"kind":"fact","source":"user"}', "content"),
    ],
)
async def test_ruling_3_a_bad_value_is_400_and_names_the_field(
    http: httpx.AsyncClient, body: bytes, field: str
) -> None:
    await http.put(f"/v1/namespaces/{A}", json={"kind": "workspace"})
    answer = await http.post(f"/v1/namespaces/{A}/memories", content=body)
    assert answer.status_code == 400
    assert answer.json()["code"] == "bad_request"
    assert field in answer.json()["message"]


async def test_ruling_4_an_absent_field_stays_and_null_clears(client: MemoryClient) -> None:
    later = datetime(2100, 1, 1, tzinfo=UTC)
    await client.put_namespace(A, NamespaceUpsert(kind="workspace", metadata={"a": 1}))
    await client.patch_namespace(A, NamespacePatch(expires_at=later))
    refreshed = await client.put_namespace(A, NamespaceUpsert(kind="team"))
    assert (refreshed.kind, refreshed.expires_at, refreshed.metadata) == ("team", later, {"a": 1})
    patched = await client.patch_namespace(A, NamespacePatch(metadata=None))
    assert (patched.expires_at, patched.metadata) == (later, None)
    cleared = await client.put_namespace(A, NamespaceUpsert(kind="team", expires_at=None))
    assert cleared.expires_at is None
    assert cleared.created_at == refreshed.created_at


async def test_ruling_5_patch_with_neither_field_is_400(http: httpx.AsyncClient) -> None:
    await http.put(f"/v1/namespaces/{A}", json={"kind": "workspace"})
    for body in ({}, {"kind": "team"}):
        answer = await http.patch(f"/v1/namespaces/{A}", json=body)
        assert answer.status_code == 400
        assert answer.json()["code"] == "bad_request"


async def test_ruling_6_forget_of_another_namespace_is_403_and_of_an_unknown_id_404(
    client: MemoryClient,
) -> None:
    for name in (A, B):
        await client.put_namespace(name, WORKSPACE)
    kept = await client.write(A, fact("kept"))
    with pytest.raises(Forbidden):
        await client.forget(kept.id, requested_by_namespace=B)
    with pytest.raises(NotFound):
        await client.forget(uuid4(), requested_by_namespace=A)
    assert await contents(client) == ["kept"]
    await client.forget(kept.id, requested_by_namespace=A)
    assert await contents(client) == []


async def test_ruling_7_expired_memories_are_gone_from_the_instant_they_expire(
    client: MemoryClient,
) -> None:
    await client.put_namespace(A, WORKSPACE)
    await client.write(A, fact("past", expires_at=datetime(2020, 1, 1, tzinfo=UTC)))
    soon = datetime.now(UTC) + timedelta(seconds=2)
    gone = await client.write(A, fact("soon", expires_at=soon))
    while datetime.now(UTC) <= soon:
        seen = await contents(client)
        assert seen == ["soon"] or datetime.now(UTC) >= soon
    assert await contents(client) == []
    assert [memory async for memory in client.list_memories([A])] == []
    with pytest.raises(NotFound):
        await client.forget(gone.id, requested_by_namespace=A)


async def test_ruling_7_an_expired_namespace_is_gone_and_put_creates_it_again_empty(
    client: MemoryClient,
) -> None:
    first = await client.put_namespace(A, NamespaceUpsert(kind="workspace", metadata={"old": True}))
    old = await client.write(A, fact("old"))
    await expire(client, A)
    assert await contents(client) == []
    with pytest.raises(NotFound):
        await client.write(A, fact("late"))
    with pytest.raises(NotFound):
        await client.forget(old.id, requested_by_namespace=A)
    with pytest.raises(NotFound):
        await client.delete_namespace(A)
    anew = await client.put_namespace(A, NamespaceUpsert(kind="team"))
    assert (anew.kind, anew.expires_at, anew.metadata) == ("team", None, None)
    assert anew.created_at > first.created_at
    assert await contents(client) == []
    await client.write(A, fact("new"))
    assert await contents(client) == ["new"]


async def test_ruling_7_only_patch_restores_an_expired_namespace_with_its_rows(
    client: MemoryClient,
) -> None:
    await client.put_namespace(A, WORKSPACE)
    await client.write(A, fact("rescued"))
    await expire(client, A)
    for useless in (
        NamespacePatch(metadata={"a": 1}),
        NamespacePatch(expires_at=datetime(2020, 1, 1, tzinfo=UTC)),
    ):
        with pytest.raises(NotFound):
            await client.patch_namespace(A, useless)
    assert (await client.patch_namespace(A, NamespacePatch(expires_at=None))).expires_at is None
    assert await contents(client) == ["rescued"]


async def test_ruling_8_pinned_rows_come_first(client: MemoryClient) -> None:
    await client.put_namespace(A, WORKSPACE)
    for content, pin in (("apple one", False), ("apple pinned", True), ("apple two", False)):
        await client.write(A, fact(content, pin=pin, embedding=[1.0, float(pin)]))
    assert await contents(client, A) == ["apple pinned", "apple two", "apple one"]
    assert (await contents(client, A, query="apple"))[0] == "apple pinned"
    assert (await contents(client, A, embedding=[1.0, 0.0]))[0] == "apple pinned"
    # Among the best `limit` rows only: the pinned one is the farthest of the three.
    assert "apple pinned" not in await contents(client, A, embedding=[1.0, 0.0], limit=2)


async def test_ruling_9_a_search_that_finds_nothing_is_an_empty_list(
    client: MemoryClient,
) -> None:
    await client.put_namespace(A, WORKSPACE)
    await client.write(A, fact("The quick brown fox, 東京", embedding=[1.0, 0.0]))
    assert await contents(client, A, query="unrelated") == []
    assert await contents(client, A, embedding=[1.0, 0.0, 0.0]) == []
    for query in ("q", "the", "東", "(((", "' OR 1=1 --", "!&|", "a" * 10_000):
        await contents(client, A, query=query)
    for query in ("q", "the", "東"):
        assert len(await contents(client, A, query=query)) == 1, query


async def test_ruling_10_query_and_embedding_together_both_count(client: MemoryClient) -> None:
    await client.put_namespace(A, WORKSPACE)
    await client.write(A, fact("neither", embedding=[-1.0, 0.0]))
    await client.write(A, fact("words only: zebra", embedding=[-1.0, 0.1]))
    await client.write(A, fact("vector only", embedding=[1.0, 0.01]))
    await client.write(A, fact("both: zebra", embedding=[1.0, 0.0]))
    best = await contents(client, A, query="zebra", embedding=[1.0, 0.0])
    assert best[0] == "both: zebra"
    assert {"words only: zebra", "vector only"} <= set(best)


async def test_ruling_11_fields_of_a_capability_that_is_not_listed_are_ignored(
    database: str,
) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("CREATE ROLE ruling_11 LOGIN")
    try:
        name = await connection.fetchval("SELECT current_database()")
        await connection.execute(f'GRANT CREATE ON DATABASE "{name}" TO ruling_11')
        url = database.replace("postgres@", "ruling_11@", 1)
        async with plugin.without_pgvector(url) as client:
            assert "embedding" not in (await client.health()).capabilities
            await client.put_namespace(A, WORKSPACE)
            await client.write(A, fact("kept", embedding=[1.0]))
            assert await contents(client, A, embedding=[1.0]) == ["kept"]
    finally:
        await connection.execute("DROP OWNED BY ruling_11")
        await connection.execute("DROP ROLE ruling_11")
        await connection.close()


async def test_ruling_12_repeated_names_count_once_and_unknown_ones_not_at_all(
    client: MemoryClient,
) -> None:
    await client.put_namespace(A, WORKSPACE)
    await client.write(A, fact("once"))
    assert await contents(client, A, A, "team:unknown") == ["once"]
    listed = [memory async for memory in client.list_memories([A, A, "team:unknown"])]
    assert len(listed) == 1


async def test_ruling_13_an_acknowledged_write_is_durable_and_seen_by_the_next_read(
    client: MemoryClient, migrated: str
) -> None:
    await client.put_namespace(A, WORKSPACE)
    database = await asyncpg.connect(migrated)
    for number in range(20):
        await client.write(A, fact(f"number {number}"))
        assert (await contents(client, limit=1)) == [f"number {number}"]
        # Committed, not only visible to the connection that wrote it.
        assert (
            await database.fetchval("SELECT count(*) FROM memory_plugin.memory_records")
            == number + 1
        )
    await database.close()


async def test_ruling_13_holds_also_where_the_database_does_not_wait_for_the_disk(
    migrated: str,
) -> None:
    database = await asyncpg.connect(migrated)
    name = await database.fetchval("SELECT current_database()")
    await database.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    await database.close()
    async with plugin.pool_connection(migrated) as connection:
        assert await connection.fetchval("SHOW synchronous_commit") == "on"


async def test_the_client_raises_for_a_bad_request(client: MemoryClient) -> None:
    with pytest.raises(BadRequest, match="name"):
        await client.put_namespace("no colon", WORKSPACE)
