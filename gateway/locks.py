"""Session locks: only one flush, edit or deletion at a time changes a session in the plugin.

They are advisory locks of the database, so they work across workers and gateways, and a process
that dies releases its locks. A lock uses a connection while it is held or waited for, so their
number is limited; callers in the same worker wait for each other without a connection.
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
    """A lock that a connection holds, and the rows that its statement has read.

    The rows may be from just before the lock was acquired; `read_again` updates them.
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
        """Release the lock after these statements, in the background.

        Their commit is asynchronous, so they must be safe to lose in a crash and repeat later.
        """
        self.last = f"BEGIN;SET LOCAL synchronous_commit = off;{last};COMMIT;"

    async def free(self) -> None:
        await self.connection.execute(self.last + _UNLOCK)


class Locks:
    """`number` turns a name into the number of a lock."""

    def __init__(self, database: Database, number: Callable[[str], int], most: int) -> None:
        self._database = database
        self._number = number
        self._slots = asyncio.Semaphore(most)
        self._locks: dict[int, asyncio.Lock] = {}
        self._users = Counter[int]()
        self._ending = set[asyncio.Task[None]]()

    async def aclose(self) -> None:
        """Wait until every lock is released."""
        while self._ending:
            await asyncio.wait(self._ending)

    @asynccontextmanager
    async def hold(
        self, session: int, statement: str = _LOCK, *arguments: object
    ) -> AsyncIterator[Held]:
        """Hold the lock of a session.

        `statement` tries to acquire the lock $1, says in its first column whether it did, and may
        read rows in the same round trip.
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
        pass  # already logged; what was not committed is repeated later


async def _unlock(connection: asyncpg.Connection) -> None:
    """Leave no lock on a connection that goes back to the pool."""
    try:
        rollback = "ROLLBACK;" if connection.is_in_transaction() else ""
        await connection.execute(rollback + _UNLOCK, timeout=_UNLOCK_SECONDS)
    except (TimeoutError, *STORE_FAULTS):
        connection.terminate()
