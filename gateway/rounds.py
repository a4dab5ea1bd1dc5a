"""Batches the work of concurrent callers: those that arrive during a round join the next one.

Most of the cost of a small statement is its round trip and its commit, which a round shares. A lone
caller is served at once. But clients that were answered together come back together, so the first
of them waits for the others as long as one arrives every millisecond; otherwise, the others would
have to wait for its whole round.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_LARGEST = 500
_MOMENT_SECONDS = 0.001
_MOST_MOMENTS = 4


class Rounds(Generic[Item, Outcome]):
    """`run` gets the items of a round and returns an outcome for each, in order.

    An outcome that is an exception is raised in its caller. If `run` itself raises, all callers of
    the round get the exception. A cancelled caller does not stop the round.
    """

    def __init__(
        self, run: Callable[[list[Item]], Awaitable[list[Outcome]]], largest: int = _LARGEST
    ) -> None:
        self._run = run
        self._largest = largest
        self._waiting: list[tuple[Item, asyncio.Future[Outcome]]] = []
        self._task: asyncio.Task[None] | None = None
        # The size of the last round, when it ended, and what is set when all its callers are back.
        self._expected = 0
        self._ended_at = 0.0
        self._all_back: asyncio.Future[None] | None = None

    async def take_part(self, item: Item) -> Outcome:
        turn: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, turn))
        if self._task is None:
            self._task = asyncio.create_task(self._run_all())
        elif self._all_back is not None and len(self._waiting) >= self._expected:
            _wake(self._all_back)
        return await turn

    async def _run_all(self) -> None:
        try:
            while self._waiting:
                await self._wait_for_last_round()
                these = self._waiting[: self._largest]
                del self._waiting[: self._largest]
                await self._run_one(these)
                self._expected = len(these)
                self._ended_at = asyncio.get_running_loop().time()
        finally:
            self._task = None
            for _, turn in self._waiting:
                turn.cancel()  # only when this task was cancelled
            self._waiting.clear()

    async def _wait_for_last_round(self) -> None:
        """Wait for the callers of the last round, if it has just ended."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._ended_at > _MOMENT_SECONDS:
            return
        come = 0
        for _ in range(_MOST_MOMENTS):
            # All are back, or nobody came in the last millisecond.
            if len(self._waiting) >= self._expected or len(self._waiting) == come:
                return
            come = len(self._waiting)
            self._all_back = loop.create_future()
            timer = loop.call_later(_MOMENT_SECONDS, _wake, self._all_back)
            try:
                await self._all_back
            finally:
                timer.cancel()
                self._all_back = None

    async def _run_one(self, these: list[tuple[Item, "asyncio.Future[Outcome]"]]) -> None:
        try:
            outcomes = await self._run([item for item, _ in these])
        except asyncio.CancelledError:
            for _, turn in these:
                turn.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it
            for _, turn in these:
                if not turn.done():
                    turn.set_exception(error)
            return
        for (_, turn), outcome in zip(these, outcomes, strict=True):
            if turn.done():
                continue  # its caller was cancelled
            if isinstance(outcome, BaseException):
                turn.set_exception(outcome)
            else:
                turn.set_result(outcome)


def _wake(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_result(None)
