"""One at a time for whatever changes a session in the plugin: flush, edit, deletion.

Held in the database, so across workers and gateways, and for as long as a transaction is open: the
lock of a process that dies is free at once. A connection is in use meanwhile, so only some may hold
or wait; those of the same worker wait here for each other.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import asyncpg

from postgres.database import Database

_LONGEST_SECONDS = 60
_ROLLBACK_SECONDS = 2


class Held:
    """A lock that is held by a transaction on the connection.

    What is changed on the connection is committed at the end and not durable at once: good for what
    would be done once more after a crash.
    """

    def __init__(self, connection: asyncpg.Connection) -> None:
        self.connection = connection
        self._is_over = False

    async def let_go(self, last: str = "") -> None:
        """Commit, and free the lock with that. `last` are statements that go the same way."""
        if not self._is_over:
            await self.connection.execute(f"{last}COMMIT")
            self._is_over = True


class Locks:
    """`number` makes the number of the lock out of a name."""

    def __init__(self, database: Database, number: Callable[[str], int], most: int) -> None:
        self._database = database
        self._number = number
        self._slots = asyncio.Semaphore(most)
        self._locks: dict[int, asyncio.Lock] = {}
        self._users = Counter[int]()

    @asynccontextmanager
    async def hold(self, session: int) -> AsyncIterator["Held"]:
        """No other process changes the session in the plugin until the end of the context."""
        async with (
            self._in_this_worker(session),
            self._slots,
            self._database.connection() as connection,
        ):
            try:
                # One way to the database in place of four.
                await connection.execute(
                    "BEGIN;"
                    f"SET LOCAL statement_timeout = '{_LONGEST_SECONDS}s';"
                    "SET LOCAL synchronous_commit = off;"
                    f"SELECT pg_advisory_xact_lock({self._number(f'session {session}'):d})",
                    timeout=_LONGEST_SECONDS + 1,
                )
                held = Held(connection)
                yield held
                await held.let_go()
            except Exception:
                with suppress(TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                    await connection.execute("ROLLBACK", timeout=_ROLLBACK_SECONDS)
                raise

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
