"""Namespaces: large ones go in batches, expired ones never give their rows back to a new one."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import httpx
import pytest

from contract import MemoryClient, MemoryWrite, NamespacePatch, NamespaceUpsert, NotFound

pytestmark = pytest.mark.anyio

A = "workspace:a"
PAST = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
async def store(migrated: str) -> Any:
    connection = await asyncpg.connect(migrated)
    yield connection
    await connection.close()


async def fill(store: asyncpg.Connection, count: int) -> None:
    await store.execute(
        "INSERT INTO memory_plugin.memory_records (namespace, content, kind, source)"
        " SELECT $1, 'x', 'fact', 'agent' FROM generate_series(1, $2::int)",
        A,
        count,
    )


async def count(store: asyncpg.Connection) -> int:
    return int(await store.fetchval("SELECT count(*) FROM memory_plugin.memory_records"))


async def test_delete_takes_more_rows_than_fit_in_a_batch(
    client: MemoryClient, store: asyncpg.Connection
) -> None:
    await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
    await fill(store, 2500)
    await client.delete_namespace(A)
    assert await count(store) == 0
    assert await store.fetchval("SELECT count(*) FROM memory_plugin.memory_namespaces") == 0
    with pytest.raises(NotFound):
        await client.delete_namespace(A)


async def test_put_of_an_expired_namespace_with_many_rows_is_empty(
    client: MemoryClient, store: asyncpg.Connection
) -> None:
    await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
    await fill(store, 2500)
    await client.patch_namespace(A, NamespacePatch(expires_at=PAST))
    await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
    assert await count(store) == 0


async def test_a_deletion_that_was_interrupted_is_not_undone_by_patch(
    client: MemoryClient, store: asyncpg.Connection
) -> None:
    await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
    await fill(store, 1)
    await store.execute("UPDATE memory_plugin.memory_namespaces SET expires_at = '-infinity'")
    with pytest.raises(NotFound):
        await client.patch_namespace(A, NamespacePatch(expires_at=None))
    with pytest.raises(NotFound):
        await client.delete_namespace(A)
    await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
    assert await count(store) == 0


async def test_put_that_changes_nothing_writes_nothing(
    client: MemoryClient, store: asyncpg.Connection
) -> None:
    await client.put_namespace(A, NamespaceUpsert(kind="workspace", metadata={"a": 1}))
    version = "SELECT xmin::text FROM memory_plugin.memory_namespaces"
    before = await store.fetchval(version)
    await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
    assert await store.fetchval(version) == before


async def test_many_puts_of_a_new_namespace_agree_on_one(client: MemoryClient) -> None:
    made = await asyncio.gather(
        *(client.put_namespace(A, NamespaceUpsert(kind="workspace")) for _ in range(20))
    )
    assert len({namespace.created_at for namespace in made}) == 1


async def test_many_puts_of_an_expired_namespace_agree_on_one_and_lose_no_new_row(
    client: MemoryClient, store: asyncpg.Connection
) -> None:
    await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
    await fill(store, 3000)
    await client.patch_namespace(A, NamespacePatch(expires_at=PAST))

    async def put_and_write(number: int) -> datetime:
        made = await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
        await client.write(A, MemoryWrite(content=f"new {number}", kind="fact", source="agent"))
        return made.created_at

    dates = await asyncio.gather(*map(put_and_write, range(8)))
    assert len(set(dates)) == 1
    assert await count(store) == 8


async def test_the_clock_of_the_database_decides(
    client: MemoryClient, store: asyncpg.Connection
) -> None:
    now = await store.fetchval("SELECT now()")
    await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
    await client.patch_namespace(A, NamespacePatch(expires_at=now + timedelta(hours=1)))
    await client.write(A, MemoryWrite(content="x", kind="fact", source="agent"))
    await client.patch_namespace(A, NamespacePatch(expires_at=now))
    with pytest.raises(NotFound):
        await client.write(A, MemoryWrite(content="x", kind="fact", source="agent"))


async def test_adopted_json_nulls_are_unset(
    http: httpx.AsyncClient, store: asyncpg.Connection
) -> None:
    await store.execute(
        "INSERT INTO memory_plugin.memory_namespaces (name, kind, metadata)"
        " VALUES ('workspace:a', 'workspace', 'null')"
    )
    await store.execute(
        "INSERT INTO memory_plugin.memory_records (namespace, content, kind, source, propagation)"
        " VALUES ('workspace:a', 'x', 'fact', 'agent', 'null')"
    )
    put = await http.put("/v1/namespaces/workspace:a", json={"kind": "workspace"})
    assert put.json().get("metadata") is None
    for path in ("/v1/search", "/v1/memories/list"):
        answer = await http.post(path, json={"namespaces": [A]})
        assert answer.json()["memories"][0].get("propagation") is None
