"""What is changed or deleted while it is summarised stays as it is."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from contract import EXTENSIONS, MemoryClient
from contract.batch import BatchWrite
from harness.example import create_app
from recall.memory import archive_of, memory_id, now
from recall.selection import Selection
from recall.store import Draft, MemoryStore
from recall.summarisation import Summariser

pytestmark = pytest.mark.anyio
OWNER = "ann"
LONG = "One. Two. Three. Four."
SHORT = "One. Two. Three."


@pytest.fixture(params=[EXTENSIONS, ()], ids=["all extensions", "none"])
async def store(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[MemoryStore]:
    """A store with three old memories. While they are archived, one is changed, one deleted."""
    plugin = httpx.ASGITransport(create_app(extensions=request.param))
    async with MemoryClient("http://plugin", timeout=60, transport=plugin) as client:
        store = MemoryStore(client)
        old = now() - timedelta(days=60)
        await store.put(
            [
                Draft(api_key_id=OWNER, key=key, content=LONG, created_at=old, updated_at=old)
                for key in ("changed", "deleted", "left")
            ]
        )
        write = store.plugin.write_rows

        async def write_slowly(rows: list[BatchWrite]) -> None:
            await write(rows)
            monkeypatch.undo()
            await store.create(OWNER, "changed", "new")
            await store.delete(memory_id(OWNER, "deleted"), api_key_id=OWNER)

        monkeypatch.setattr(store.plugin, "write_rows", write_slowly)
        yield store


async def contents(store: MemoryStore) -> dict[str, str]:
    return {one.key.split(":")[0]: one.content for one in await store.list(Selection((OWNER,)))}


async def check(store: MemoryStore, done: dict[str, Any]) -> None:
    assert (done["originalCount"], done["summarizedCount"]) == (1, 1)
    assert [it["key"] for it in done["candidates"]] == ["left"]
    rows, _ = await store.plugin.look_through([archive_of(OWNER)], {})
    assert [row.content for row in rows] == [LONG]


async def test_by_age(store: MemoryStore) -> None:
    done = await Summariser(store).summarize([OWNER], older_than_days=30)
    await check(store, done)
    assert await contents(store) == {"changed": "new", "summary": f"[factual] left: {SHORT}"}
    assert done["deletedCount"] == 1


async def test_by_budget(store: MemoryStore) -> None:
    done = await Summariser(store).summarize([OWNER], max_tokens=1)
    await check(store, done)
    assert await contents(store) == {"changed": "new", "left": SHORT}
