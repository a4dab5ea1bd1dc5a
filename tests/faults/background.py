"""Work in the background of a test."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def in_background(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run the work while the context lasts; if it raises, the test fails."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        try:
            yield
        finally:
            task.cancel()
