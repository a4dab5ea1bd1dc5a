"""A limited number of jobs at a time."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Self


class Lanes:
    """Runs jobs in the background, at most `width` at once.

    The first job that fails stops the others; its exception is raised, as it is, by the next
    `start` or by `join`. Leaving the block waits for all, or cancels all when it failed.
    """

    def __init__(self, width: int) -> None:
        self._free = asyncio.Semaphore(width)
        self._jobs: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        if exception[0] is None:
            await self.join()
        else:
            await self._stop()

    async def start(self, job: Coroutine[Any, Any, None]) -> None:
        """Wait for a free lane and run the job in it."""
        try:
            await self._free.acquire()
            await self._raise_failure()
        except BaseException:
            job.close()
            raise
        task = asyncio.create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._done)

    async def join(self) -> None:
        """Wait until every job is done."""
        try:
            while self._jobs and self._failure is None:
                await asyncio.wait(self._jobs, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._stop()
            raise
        await self._raise_failure()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._jobs.discard(task)
        self._free.release()
        if not task.cancelled() and task.exception() is not None and self._failure is None:
            self._failure = task.exception()

    async def _raise_failure(self) -> None:
        if self._failure is not None:
            await self._stop()
            raise self._failure

    async def _stop(self) -> None:
        jobs = list(self._jobs)
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
