"""One call for everyone who asks the same question at the same time.

Callers that arrive during a call share the next one, which starts after they arrived and so sees
every earlier change. It does not wait long for the running call, which may hang.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

# After this time, the next call starts without waiting for the running one.
_LATE_SECONDS = 0.02

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")


@dataclass(eq=False, slots=True)
class _Round(Generic[Answer]):
    """A call, and the number of callers that wait for it."""

    answer: "asyncio.Task[Answer]"
    waiting: int = 0


class Sharing(Generic[Question, Answer]):
    """Shares the results and exceptions of `call`, so callers must not modify them.

    A call that nobody waits for any more is cancelled.
    """

    def __init__(self, call: Callable[[Question], Awaitable[Answer]]) -> None:
        self._call = call
        self._running: dict[Question, _Round[Answer]] = {}
        self._next: dict[Question, _Round[Answer]] = {}

    async def ask(self, question: Question) -> Answer:
        """The result of a call that starts after this point."""
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
