"""Locks by name, within this process."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager


class Locks:
    """One lock per name that is in use."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: dict[str, int] = {}

    @asynccontextmanager
    async def hold(self, names: Collection[str]) -> AsyncIterator[None]:
        """Hold several locks, taken in sorted order to avoid deadlocks."""
        wanted = sorted(set(names))
        for name in wanted:
            self._users[name] = self._users.get(name, 0) + 1
        try:
            async with AsyncExitStack() as stack:
                for name in wanted:
                    lock = self._locks.setdefault(name, asyncio.Lock())
                    await stack.enter_async_context(lock)
                yield
        finally:
            for name in wanted:
                self._users[name] -= 1
                if not self._users[name]:
                    del self._users[name]
                    self._locks.pop(name, None)
