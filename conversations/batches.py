"""One statement for all that arrived while the last one ran."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batches(Generic[Item, Result]):
    """Collects single questions and has `answer` deal with many at once, in order.

    At most `at_once` batches are under way. When a batch fails, all in it fail alike.
    """

    def __init__(
        self,
        answer: Callable[[list[Item]], Awaitable[list[Result]]],
        *,
        at_once: int = 2,
        largest: int = 500,
    ) -> None:
        self._answer = answer
        self._at_once = at_once
        self._largest = largest
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._running: set[asyncio.Task[None]] = set()

    async def ask(self, item: Item) -> Result:
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        self._start()
        return await done

    def _start(self) -> None:
        while self._waiting and len(self._running) < self._at_once:
            task = asyncio.create_task(self._run())
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        self._start()

    async def _run(self) -> None:
        # Whatever else becomes ready in this turn of the loop comes along.
        await asyncio.sleep(0)
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
