"""The extension `list`: every row exactly once, in id order, whatever happens meanwhile."""

from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import pytest

from contract import ListRequest, MemoryClient, MemoryDigest, MemoryWrite, NamespaceUpsert

pytestmark = pytest.mark.anyio

A, B = "workspace:a", "workspace:b"


@pytest.fixture
async def keys(client: MemoryClient) -> list[UUID]:
    """25 memories in two namespaces, the smallest and the largest UUID among them."""
    made = [UUID(int=0), UUID(int=2**128 - 1), *(uuid4() for _ in range(23))]
    for name in (A, B, "workspace:other"):
        await client.put_namespace(name, NamespaceUpsert(kind="workspace"))
    for number, key in enumerate(made):
        body = MemoryWrite(content=f"Größe {number}", kind="fact", source="agent", id=key)
        await client.write((A, B)[number % 2], body)
    await client.write("workspace:other", MemoryWrite(content="no", kind="fact", source="agent"))
    return sorted(made)


async def listed(client: MemoryClient, **fields: Any) -> list[UUID]:
    return [memory.id async for memory in client.list_memories([A, B], **fields)]


@pytest.mark.parametrize("page_size", [1, 7, 25, 1000])
async def test_every_memory_once_in_id_order(
    client: MemoryClient, keys: list[UUID], page_size: int
) -> None:
    assert await listed(client, page_size=page_size) == keys


async def test_a_digest_is_the_hash_of_the_content(client: MemoryClient, keys: list[UUID]) -> None:
    full = {m.id: m async for m in client.list_memories([A, B], page_size=10)}
    assert sorted(full) == keys
    async for digest in client.list_memories([A, B], fields="digest", page_size=10):
        assert isinstance(digest, MemoryDigest)
        memory = full.pop(digest.id)
        content = getattr(memory, "content", "")
        assert digest.content_sha256 == sha256(content.encode()).hexdigest()
    assert full == {}


async def test_rows_that_stay_appear_once_while_others_come_and_go(
    client: MemoryClient, keys: list[UUID]
) -> None:
    first = await client.list_page(ListRequest(namespaces=[A, B], limit=10))
    home = {m.id: m.namespace async for m in client.list_memories([A, B])}
    # The row with which the next page begins goes; one comes before it and one after.
    await client.forget(keys[10], requested_by_namespace=home[keys[10]])
    before, after = UUID(int=keys[10].int - 1), UUID(int=keys[11].int + 1)
    for key in (before, after):
        await client.write(A, MemoryWrite(content="new", kind="fact", source="agent", id=key))
    rest = await client.list_page(
        ListRequest(namespaces=[A, B], limit=1000, cursor=first.next_cursor)
    )
    assert [memory.id for memory in first.memories] == keys[:10]
    assert [memory.id for memory in rest.memories] == sorted([*keys[11:], after])
    assert rest.next_cursor is None


async def test_a_page_of_large_memories_is_shorter_and_the_next_continues(
    client: MemoryClient,
) -> None:
    await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
    large = [
        MemoryWrite(content="ä" * 128 * 1024, kind="fact", source="agent", id=UUID(int=number))
        for number in range(65)
    ]
    for body in large:
        await client.write(A, body)
    first = await client.list_page(ListRequest(namespaces=[A], limit=1000))
    assert [memory.id for memory in first.memories] == [body.id for body in large[:32]]
    assert first.next_cursor is not None
    assert await listed(client, page_size=1000) == [body.id for body in large]


@pytest.mark.parametrize(("length", "fitting"), [(120_000, 70), (900_000, 8)])
async def test_a_large_propagation_makes_a_page_shorter_too(
    client: MemoryClient, length: int, fitting: int
) -> None:
    await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
    # PostgreSQL compresses it to a hundredth.
    propagation = {"trace": "x" * length}
    bodies = [
        MemoryWrite(
            id=UUID(int=number), content="c", kind="fact", source="agent", propagation=propagation
        )
        for number in range(fitting + 3)
    ]
    for body in bodies:
        await client.write(A, body)
    first = await client.list_page(ListRequest(namespaces=[A], limit=1000))
    assert len(first.memories) in range(fitting - 1, fitting + 2)
    assert await listed(client, page_size=1000) == [body.id for body in bodies]
