"""Work for many callers at once: callers that arrive during a round join the next one.

Of what a small statement costs, the way to the database and its commit are the larger part, and a
round shares them. Nobody waits for a request that has not arrived; but those that have arrived and
are still to be read come first, else one goes alone and all the others after it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_LARGEST = 500
# Whoever has arrived takes part after two turns of the event loop: one reads, the other begins.
_TURNS_TO_ARRIVE = 2
_COMPANY = 64


class Rounds(Generic[Item, Outcome]):
    """`run` gets the items of a round and returns an outcome for each, in order.

    An outcome that is an exception is raised to its caller. When `run` itself raises, all of the
    round's callers get that. A caller that is cancelled does not stop the round.
    """

    def __init__(
        self, run: Callable[[list[Item]], Awaitable[list[Outcome]]], largest: int = _LARGEST
    ) -> None:
        self._run = run
        self._largest = largest
        self._waiting: list[tuple[Item, asyncio.Future[Outcome]]] = []
        self._task: asyncio.Task[None] | None = None

    async def take_part(self, item: Item) -> Outcome:
        turn: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, turn))
        if self._task is None:
            self._task = asyncio.create_task(self._run_all())
        return await turn

    async def _run_all(self) -> None:
        try:
            while self._waiting:
                await self._let_arrive()
                these = self._waiting[: self._largest]
                del self._waiting[: self._largest]
                await self._run_one(these)
        finally:
            self._task = None
            for _, turn in self._waiting:
                turn.cancel()  # only when this task was cancelled
            self._waiting.clear()

    async def _let_arrive(self) -> None:
        quiet = 0
        while quiet < _TURNS_TO_ARRIVE and len(self._waiting) < _COMPANY:
            before = len(self._waiting)
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._waiting) == before else 0

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
