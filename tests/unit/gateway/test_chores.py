"""Background work, without a database."""

import asyncio
from typing import Any

import pytest

from gateway.chores import Chores
from gateway.errors import Unavailable

pytestmark = pytest.mark.anyio


class Waiting:
    """Sessions with unfinished flushes: what the chores use of a database and of `Flush`."""

    def __init__(self, count: int, *, is_down: bool = False) -> None:
        self.sessions = list(range(count))
        self.is_down = is_down
        self.reads = 0

    async def fetch(self, _statement: str, most: int) -> list[dict[str, int]]:
        self.reads += 1
        return [{"session": it} for it in self.sessions[:most]]

    async def run(self, session: int, *, take: bool) -> None:
        assert not take
        if self.is_down:
            raise Unavailable("the plugin is down")
        self.sessions.remove(session)


@pytest.mark.parametrize(("is_down", "left", "reads"), [(False, 0, 3), (True, 250, 1)])
async def test_ruling_15_after_an_outage_many_flushes_complete_without_a_pause(
    monkeypatch: pytest.MonkeyPatch, *, is_down: bool, left: int, reads: int
) -> None:
    paused = asyncio.Event()

    async def pause(_seconds: float) -> None:
        paused.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("gateway.chores.asyncio.sleep", pause)
    waiting: Any = Waiting(250, is_down=is_down)
    chores = Chores(waiting, waiting, waiting, waiting, 0)
    task = asyncio.create_task(chores.finish_flushes())
    await paused.wait()
    task.cancel()
    assert (len(waiting.sessions), waiting.reads) == (left, reads)
