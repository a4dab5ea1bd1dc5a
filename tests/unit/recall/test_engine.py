"""Reindexing goes on after a failure, and a health check ends in time."""

import asyncio
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


class _Hanging:
    """A plugin that takes requests and never answers."""

    async def write_rows(self, _rows: object) -> None:
        await asyncio.Event().wait()


async def test_the_health_of_a_plugin_that_hangs_is_known_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("recall.engine._HEALTH_SECONDS", 0.01)
    store = Store(MemoryPluginError("unused"))
    store.plugin = _Hanging()  # type: ignore[attr-defined]
    shown = await Engine(cast(Any, store), cast(Any, None)).health()
    assert shown["working"] is False
    assert "in time" in shown["error"]
