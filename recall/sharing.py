"""One call for all who ask the same at the same time.

Who comes while a call runs gets the answer of the next one: it begins after they came, so it has
seen whatever was changed before. It does not wait long for the running one, which may hang.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

# A call that takes longer than this is late, and nobody waits for it.
_LATE_SECONDS = 0.02

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")


@dataclass(eq=False, slots=True)
class _Round(Generic[Answer]):
    """A call, and how many wait for its answer."""

    answer: "asyncio.Task[Answer]"
    waiting: int = 0


class Sharing(Generic[Question, Answer]):
    """Asks `call`; its answers and exceptions go to all who share it, so none may change them.

    A call that nobody waits for any more is cancelled.
    """

    def __init__(self, call: Callable[[Question], Awaitable[Answer]]) -> None:
        self._call = call
        self._running: dict[Question, _Round[Answer]] = {}
        self._next: dict[Question, _Round[Answer]] = {}

    async def ask(self, question: Question) -> Answer:
        """The answer of a call that begins from now on."""
        one = self._next.get(question)
        if one is None:
            one = self._next[question] = _Round(asyncio.create_task(self._run(question)))
        one.waiting += 1
        try:
            return await asyncio.shield(one.answer)
        finally:
            one.waiting -= 1
            if not one.waiting and not one.answer.done():
                self._forget(question, one)
                one.answer.cancel()

    async def _run(self, question: Question) -> Answer:
        one = self._next[question]
        try:
            if (before := self._running.get(question)) is not None:
                await asyncio.wait([before.answer], timeout=_LATE_SECONDS)
            del self._next[question]
            self._running[question] = one
            return await self._call(question)
        finally:
            self._forget(question, one)

    def _forget(self, question: Question, one: _Round[Answer]) -> None:
        for rounds in (self._running, self._next):
            if rounds.get(question) is one:
                del rounds[question]
