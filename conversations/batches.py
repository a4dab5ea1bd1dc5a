"""One statement for everything that arrived while the previous one ran."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Rounds:
    """Runs `work` while `is_waiting` returns true, at most `at_once` at a time."""

    def __init__(
        self, work: Callable[[], Awaitable[None]], is_waiting: Callable[[], bool], at_once: int
    ) -> None:
        self._work = work
        self._is_waiting = is_waiting
        self._at_once = at_once
        self._running: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Call this when there may be work."""
        if self._is_waiting() and len(self._running) < self._at_once:
            task = asyncio.create_task(self._run())
            self._running.add(task)
            task.add_done_callback(self._ended)

    async def drain(self) -> None:
        """Wait for running work."""
        while self._running:
            await asyncio.wait(self._running)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        self.start()

    async def _run(self) -> None:
        # Everything that becomes ready in this iteration of the event loop joins the batch.
        await asyncio.sleep(0)
        await self._work()


class Batches(Generic[Item, Result]):
    """Collects single items and has `answer` handle many at once, in order.

    At most `at_once` batches run at a time. If a batch fails, every item in it fails.
    """

    def __init__(
        self,
        answer: Callable[[list[Item]], Awaitable[list[Result]]],
        *,
        at_once: int = 2,
        largest: int = 500,
    ) -> None:
        self._answer = answer
        self._largest = largest
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._rounds = Rounds(self._work, lambda: bool(self._waiting), at_once)

    async def ask(self, item: Item) -> Result:
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        self._rounds.start()
        return await done

    async def _work(self) -> None:
        taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._largest))]
        live = [(item, done) for item, done in taken if not done.done()]
        if not live:
            return
        try:
            results = await self._answer([item for item, _ in live])
        except BaseException as error:
            for _, done in live:
                if not done.done():
                    done.set_exception(
                        error if isinstance(error, Exception) else asyncio.CancelledError()
                    )
            if not isinstance(error, Exception):
                raise
            return
        for (_, done), result in zip(live, results, strict=True):
            if not done.done():
                done.set_result(result)
