"""The store as a library: with a plugin, and without recall's own tables."""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from contract import EXTENSIONS, BadRequest, MemoryClient
from harness.example import create_app
from recall.memory import MAX_METADATA_DEPTH, now
from recall.retrieval import RetrievalConfig, retrieve
from recall.store import Draft, MemoryStore
from tests.integration.recall.test_metadata import nested

pytestmark = pytest.mark.anyio
OWNER = "ann"


@pytest.fixture(params=[EXTENSIONS, ()])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[MemoryStore]:
    plugin = httpx.ASGITransport(create_app(extensions=request.param))
    async with MemoryClient("http://plugin", timeout=60, transport=plugin) as client:
        yield MemoryStore(client)


@pytest.mark.parametrize("owner", [None, OWNER])
@pytest.mark.parametrize("wrong", ["zzz", "", "{0a7a8a3e-5d3f-4c57-9a43-1d1f0f1d2c3b}"])
async def test_what_is_no_id_is_the_id_of_no_memory(
    store: MemoryStore, wrong: str, owner: str | None
) -> None:
    await store.create(OWNER, "k", "c")
    assert await store.get(wrong, api_key_id=owner) is None
    assert await store.update(wrong, {"content": "d"}, api_key_id=owner) is None
    assert await store.delete(wrong, api_key_id=owner) is False


async def test_what_a_plugin_cannot_hold_is_refused_and_changes_nothing(
    store: MemoryStore,
) -> None:
    made = await store.create(OWNER, "k", "c")
    too_deep = nested(MAX_METADATA_DEPTH + 1)
    with pytest.raises(BadRequest):
        await store.create(OWNER, "k", "d", metadata=too_deep)
    with pytest.raises(BadRequest):
        await store.update(made.id, {"content": "\x00"}, api_key_id=OWNER)
    # Another time of creation moves the row, which must not be lost on the way.
    draft = Draft(
        api_key_id=OWNER,
        key="k",
        content="d",
        metadata=too_deep,
        created_at=made.created_at.replace(year=2020),
    )
    with pytest.raises(BadRequest):
        await store.put([draft])
    kept = await store.get(made.id, api_key_id=OWNER)
    assert kept is not None
    assert (kept.content, kept.metadata) == ("c", {})


async def test_what_is_too_old_to_be_recalled_hides_nothing(store: MemoryStore) -> None:
    old = now() - timedelta(days=60)
    stale = Draft(
        api_key_id=OWNER, key="s", content="I like zebras", created_at=old, updated_at=old
    )
    await store.put([stale])
    # The plugin searches contents only.
    await store.create(OWNER, "zebra", "I keep one")
    found = await retrieve(store, OWNER, RetrievalConfig(query="zebra", strategy="semantic"))
    assert [it.key for it in found.memories] == ["zebra"]
