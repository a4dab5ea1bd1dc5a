"""Who asks the same at the same time shares a call, and never one that began before."""

import asyncio

import pytest

from recall.sharing import Sharing
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _never_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall.sharing._LATE_SECONDS", 120.0)


class _Slow:
    """A call that ends when it is told to, and returns its number."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ends: list[asyncio.Future[None]] = []

    async def __call__(self, question: str) -> int:
        self.begun.append(question)
        number = len(self.begun)
        self.ends.append(asyncio.get_running_loop().create_future())
        await self.ends[-1]
        return number


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_comes_while_a_call_runs_shares_the_next_one() -> None:
    slow = _Slow()
    sharing = Sharing(slow)
    first = asyncio.create_task(sharing.ask("tea"))
    await _settle()
    others = [asyncio.create_task(sharing.ask("tea")) for _ in range(3)]
    await _settle()
    assert slow.begun == ["tea"]
    slow.ends[0].set_result(None)
    await _settle()
    assert slow.begun == ["tea", "tea"]
    slow.ends[1].set_result(None)
    assert await asyncio.gather(first, *others) == [1, 2, 2, 2]


async def test_another_question_does_not_wait() -> None:
    slow = _Slow()
    sharing = Sharing(slow)
    asking = [asyncio.create_task(sharing.ask(it)) for it in ("tea", "coffee")]
    await _settle()
    assert slow.begun == ["tea", "coffee"]
    for end in slow.ends:
        end.set_result(None)
    assert await asyncio.gather(*asking) == [1, 2]


async def test_a_failure_is_everybodys_and_the_next_call_is_made() -> None:
    slow = _Slow()
    sharing = Sharing(slow)
    asking = [asyncio.create_task(sharing.ask("tea")) for _ in range(2)]
    await _settle()
    slow.ends[0].set_exception(OSError("down"))
    failed = await asyncio.gather(*asking, return_exceptions=True)
    assert [str(one) for one in failed] == ["down", "down"]
    again = asyncio.create_task(sharing.ask("tea"))
    await _settle()
    slow.ends[1].set_result(None)
    assert await again == 2


async def test_who_leaves_takes_nothing_from_the_others() -> None:
    slow = _Slow()
    sharing = Sharing(slow)
    leaving, staying = (asyncio.create_task(sharing.ask("tea")) for _ in range(2))
    await _settle()
    leaving.cancel()
    await _settle()
    slow.ends[0].set_result(None)
    assert await staying == 1


async def test_a_call_that_hangs_ends_with_those_who_wait_for_it() -> None:
    slow = _Slow()
    sharing = Sharing(slow)
    stuck = asyncio.create_task(sharing.ask("tea"))
    await _settle()
    behind = asyncio.create_task(sharing.ask("tea"))
    await _settle()
    stuck.cancel()
    # Asked before the call has ended: it must not be shared any more.
    last = asyncio.create_task(sharing.ask("tea"))
    await _settle()
    assert slow.ends[0].cancelled()
    slow.ends[1].set_result(None)
    assert (await behind, await last) == (2, 2)


async def test_whoever_waits_for_a_call_that_has_not_begun_may_leave() -> None:
    slow = _Slow()
    sharing = Sharing(slow)
    first = asyncio.create_task(sharing.ask("tea"))
    await _settle()
    behind = asyncio.create_task(sharing.ask("tea"))
    await _settle()
    behind.cancel()
    await _settle()
    last = asyncio.create_task(sharing.ask("tea"))
    await _settle()
    slow.ends[0].set_result(None)
    await _settle()
    slow.ends[1].set_result(None)
    assert (await first, await last) == (1, 2)
    assert slow.begun == ["tea", "tea"]


async def test_nobody_waits_for_a_late_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall.sharing._LATE_SECONDS", 0.0)
    slow = _Slow()
    sharing = Sharing(slow)
    first = asyncio.create_task(sharing.ask("tea"))
    await _settle()
    second = asyncio.create_task(sharing.ask("tea"))
    await eventually(lambda: len(slow.ends) == 2)
    slow.ends[1].set_result(None)
    assert await second == 2
    assert not first.done()
    slow.ends[0].set_result(None)
    assert await first == 1
