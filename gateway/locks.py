"""One at a time for whatever changes a session in the plugin: flush, edit, deletion.

Held in the database, so across workers and gateways, and as long as the connection is there: the
lock of a process that dies is free at once. A connection is in use meanwhile, so only some may hold
or wait; those of the same worker wait here for each other.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import asyncpg

from postgres.connection import STORE_FAULTS
from postgres.database import Database
from postgres.errors import StoreUnavailable

_LOCK = "SELECT pg_try_advisory_lock($1)"
_UNLOCK = "SELECT pg_advisory_unlock_all()"
_LONGEST_SECONDS = 60
_UNLOCK_SECONDS = 2


class Held:
    """A lock that is held by the connection, and what its statement has read.

    That may be from just before the lock was there: `read_again` tells what it is now.
    """

    def __init__(
        self,
        connection: asyncpg.Connection,
        number: int,
        statement: str,
        arguments: tuple[Any, ...],
    ) -> None:
        self.connection = connection
        self.rows: list[Any] = []
        self.last = ""
        self._number = number
        self._statement = statement
        self._arguments = arguments

    async def lock(self) -> None:
        await self.read_again()
        if not self.rows[0][0]:
            await self.connection.execute(
                f"BEGIN;SET LOCAL statement_timeout = '{_LONGEST_SECONDS}s';"
                f"SELECT pg_advisory_lock({self._number:d});COMMIT",
                timeout=_LONGEST_SECONDS + 1,
            )
            await self.read_again()

    async def read_again(self) -> None:
        self.rows = await self.connection.fetch(self._statement, self._number, *self._arguments)

    def end_with(self, last: str) -> None:
        """Free the lock after these statements, for which its holder does not wait.

        They are committed and not durable at once: good for what is done once more after a crash.
        """
        self.last = f"BEGIN;SET LOCAL synchronous_commit = off;{last};COMMIT;"

    async def free(self) -> None:
        await self.connection.execute(self.last + _UNLOCK)


class Locks:
    """`number` makes the number of the lock out of a name."""

    def __init__(self, database: Database, number: Callable[[str], int], most: int) -> None:
        self._database = database
        self._number = number
        self._slots = asyncio.Semaphore(most)
        self._locks: dict[int, asyncio.Lock] = {}
        self._users = Counter[int]()
        self._ending = set[asyncio.Task[None]]()

    async def aclose(self) -> None:
        """Return when no lock is about to be freed."""
        while self._ending:
            await asyncio.wait(self._ending)

    @asynccontextmanager
    async def hold(
        self, session: int, statement: str = _LOCK, *arguments: object
    ) -> AsyncIterator[Held]:
        """No other process changes the session in the plugin until the end of the context.

        A `statement` reads on the way. It tries to get the lock of the number $1, and says in its
        first column whether it has.
        """
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._in_this_worker(session))
            await stack.enter_async_context(self._slots)
            connection = await stack.enter_async_context(self._database.connection())
            held = Held(connection, self._number(f"session {session}"), statement, arguments)
            try:
                await held.lock()
                yield held
                if not held.last:
                    await held.free()
            except Exception:
                await _unlock(connection)
                raise
            except BaseException:
                connection.terminate()
                raise
            if held.last:
                task = asyncio.create_task(_end(held, stack.pop_all()))
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)

    @asynccontextmanager
    async def _in_this_worker(self, session: int) -> AsyncIterator[None]:
        lock = self._locks.setdefault(session, asyncio.Lock())
        self._users[session] += 1
        try:
            async with lock:
                yield
        finally:
            self._users[session] -= 1
            if not self._users[session]:
                del self._users[session], self._locks[session]


async def _end(held: Held, stack: AsyncExitStack) -> None:
    try:
        async with stack:
            try:
                await held.free()
            except Exception:
                await _unlock(held.connection)
                raise
    except StoreUnavailable:
        pass  # logged where it happened; what was not committed is done once more


async def _unlock(connection: asyncpg.Connection) -> None:
    """Leave no lock on a connection that somebody else will use."""
    try:
        rollback = "ROLLBACK;" if connection.is_in_transaction() else ""
        await connection.execute(rollback + _UNLOCK, timeout=_UNLOCK_SECONDS)
    except (TimeoutError, *STORE_FAULTS):
        connection.terminate()
