"""Work that goes on beside a test."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def meanwhile(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Do it as long as the context lasts; what it raises fails the test."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        try:
            yield
        finally:
            task.cancel()
