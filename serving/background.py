"""Background tasks of a server."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

_PAUSE_SECONDS = 1.0

log = logging.getLogger(__name__)


@asynccontextmanager
async def background(*works: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Run each as its own task until the end of the context, then cancel and await them.

    One that raises is logged and restarted after a second; one that returns is done.
    """
    tasks = [asyncio.create_task(_keep_going(work)) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _keep_going(work: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            return await work()
        except Exception:
            name = getattr(work, "__qualname__", type(work).__name__)
            log.exception("background work failed", extra={"work": name})
        await asyncio.sleep(_PAUSE_SECONDS)
