"""Reindexing goes on after a failure."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from contract import MemoryPluginError
from postgres.errors import StoreUnavailable
from recall.engine import Engine
from recall.memory import Memory

pytestmark = pytest.mark.anyio


class Store:
    """Fails for the first memory."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.touched: list[str] = []

    async def touch(self, memory: Memory) -> None:
        self.touched.append(memory.id)
        if len(self.touched) == 1:
            raise self._error


@pytest.mark.parametrize("error", [MemoryPluginError("down"), StoreUnavailable("down")])
async def test_a_memory_that_fails_does_not_stop_the_others(error: Exception) -> None:
    store = Store(error)
    moment = datetime.now(UTC)
    memories = [
        Memory(id=name, api_key_id="", key="k", content="c", created_at=moment, updated_at=moment)
        for name in ("a", "b")
    ]
    await Engine(cast(Any, store), cast(Any, None)).reindex(memories)
    assert store.touched == ["a", "b"]
