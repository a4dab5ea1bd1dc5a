"""How far recall looks through a plugin: to the end where it browses, else in bounds."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import uuid4

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from contract import EXTENSIONS, MAX_PAGE, MemoryClient
from contract.scalars import Extension
from harness.example import create_app
from recall.importing import import_memories
from recall.memory import Memory, memory_id, now
from recall.selection import Selection
from recall.store import MemoryStore

pytestmark = pytest.mark.anyio
OWNER = "ann"
EVERYTHING = Selection((OWNER,))
COUNT = MAX_PAGE + 200


@asynccontextmanager
async def filled(extensions: Collection[Extension]) -> AsyncIterator[MemoryStore]:
    app = create_app(extensions=extensions)
    client = MemoryClient("http://plugin", timeout=60, transport=httpx.ASGITransport(app))
    moment = now()
    async with client:
        store = MemoryStore(client)
        keys = [f"k{number}" for number in range(COUNT)]
        await store.rewrite(
            [
                Memory(
                    id=memory_id(OWNER, key),
                    api_key_id=OWNER,
                    key=key,
                    content=f"about {key}",
                    created_at=moment,
                    updated_at=moment,
                )
                for key in keys
            ]
        )
        yield store


@pytest.fixture(autouse=True)
def _small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall.plugin.MAX_SCANNED", MAX_PAGE)


async def test_a_text_is_looked_for_in_everything_that_a_plugin_browses() -> None:
    async with filled(EXTENSIONS) as store:
        found = await store.scan(replace(EVERYTHING, text="ABOUT"))
        assert (len(found.memories), found.truncated) == (COUNT, False)


async def test_without_filter_and_browse_the_bound_holds_and_is_reported() -> None:
    async with filled(("batch", "list", "get")) as store:
        found = await store.scan(EVERYTHING)
        assert (len(found.memories), found.truncated) == (MAX_PAGE, True)


@pytest.mark.parametrize("extensions", [EXTENSIONS, ("batch", "list")])
async def test_an_export_is_complete_on_a_plugin_with_list(
    extensions: Collection[Extension],
) -> None:
    async with filled(extensions) as store:
        keys = {memory.key async for memory in store.export(EVERYTHING)}
        assert len(keys) == COUNT


@asynccontextmanager
async def counted(
    extensions: Collection[Extension],
) -> AsyncIterator[tuple[MemoryStore, Counter[str]]]:
    """A store on an empty plugin, and how often each path was asked for."""
    app = create_app(extensions=extensions)
    asked: Counter[str] = Counter()

    async def counting(scope: Scope, receive: Receive, send: Send) -> None:
        asked[scope["path"]] += 1
        await app(scope, receive, send)

    transport = httpx.ASGITransport(counting)
    async with MemoryClient("http://plugin", timeout=60, transport=transport) as client:
        yield MemoryStore(client), asked


async def test_an_import_without_get_looks_through_a_namespace_once_for_each_hundred() -> None:
    lines = [{"key": f"k{number}", "content": f"about {number}"} for number in range(400)]
    body = json.dumps(lines).encode()
    async with counted(("batch", "list")) as (store, asked):
        for change in ("imported", "updated"):
            asked.clear()
            done = await import_memories(store, body, api_key_id=OWNER, on_conflict="merge")
            assert getattr(done, change) == len(lines)
            assert asked["/v1/memories/list"] == len(lines) / 100
        assert await store.count(EVERYTHING) == len(lines)


class Counted(httpx.ASGITransport):
    """Counts the requests to delete a memory."""

    deletions = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.deletions += request.method == "DELETE"
        return await super().handle_async_request(request)


async def test_an_unknown_id_is_requested_once_however_many_owners_there_are() -> None:
    transport = Counted(create_app())
    async with MemoryClient("http://plugin", timeout=60, transport=transport) as client:
        store = MemoryStore(client)
        for number in range(5):
            await store.create(f"owner {number}", "key", "content")
        assert await store.delete_anywhere([str(uuid4()) for _ in range(300)]) == 0
    assert transport.deletions == 300


async def test_requests_that_come_together_share_the_newest() -> None:
    async with counted(EXTENSIONS) as (store, asked):
        await store.create(OWNER, "k", "about k")
        found = await asyncio.gather(*(store.newest(EVERYTHING, 100) for _ in range(10)))
        assert [[memory.key for memory in one.memories] for one in found] == [["k"]] * 10
        assert asked["/v1/search"] == 1
        await store.newest(EVERYTHING, 100)
        assert asked["/v1/search"] == 2
