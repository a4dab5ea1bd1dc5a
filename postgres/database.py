"""Connections to PostgreSQL. Every failure of the store is raised as `StoreUnavailable`.

Errors in the data itself (SQLSTATE classes 22, 23 and 54) are raised unchanged, so that the writer
can find the row that caused them.

A connection remembers the schema: prepared statements, and the ids of types. A restore replaces the
schema under it, and then its statements fail until there is a new connection.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg

from postgres.connection import DATA_FAULTS, STORE_FAULTS, connect, reason_of
from postgres.errors import StoreUnavailable
from postgres.pool import IDLE_SECONDS, Pool
from postgres.settings import DatabaseSettings

# The text of our statements does not change. If one that was right is no longer, the schema has.
OUTDATED = (asyncpg.InternalServerError, asyncpg.SyntaxOrAccessError)
# These are of the same kinds, but a new connection would not help.
_NOT_OUTDATED = (asyncpg.InsufficientPrivilegeError, asyncpg.PostgresSyntaxError)
_RENEWAL_SECONDS = 1.0
_HEALTH_SECONDS = 2.0
_CLOSE_SECONDS = 1.0

log = logging.getLogger(__name__)


class Database:
    """A pool of connections, and one more that only checks whether the store is up.

    `name` is the connections' application name on the server. `session` has server settings in
    addition to our own, and `prepare` does what else a new connection needs.
    """

    def __init__(
        self,
        settings: DatabaseSettings,
        *,
        name: str,
        search_path: str | None = None,
        session: Mapping[str, str] | None = None,
        prepare: Callable[[asyncpg.Connection], Awaitable[None]] | None = None,
    ) -> None:
        self._settings = settings
        self._name = name
        self._session = {
            "statement_timeout": f"{settings.statement_timeout * 1000:.0f}",
            # Our statements are short; compiling them costs more than it saves.
            "jit": "off",
            **(session or {}),
        }
        self._search_path = search_path
        self._prepare = prepare
        self._pool = Pool(self._connect, settings.pool_size)
        self._renewed_at = 0.0
        self._probe: asyncpg.Connection | None = None
        self._probed_at = 0.0
        self._probing = asyncio.Lock()

    async def open(self) -> None:
        """Open the pool. The store may be down: connections are made on demand."""
        try:
            async with self.connection():
                pass
        except StoreUnavailable as error:
            log.warning("store is down", extra={"reason": error.message})

    async def close(self) -> None:
        """Close every connection, forcibly if it does not close in time."""
        with suppress(TimeoutError, *STORE_FAULTS):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._pool.close()
        if self._probe is not None:
            self._probe.terminate()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection from the pool; raises `StoreUnavailable` rather than wait for long."""
        connection = await self._acquire()
        try:
            yield connection
        except BaseException as error:
            self._explain(error, connection)
            raise
        finally:
            self._pool.release(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection inside a transaction, which is committed at the end of the context."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        # Like `connection`, without the cost of a context manager: every search comes through here.
        connection = await self._acquire()
        try:
            return await connection.fetch(query, *arguments)
        except OUTDATED as error:
            if not self._renews(connection, error):
                raise _unavailable("the store failed", error) from None
        except BaseException as error:
            self._explain(error, connection)
            raise
        finally:
            self._pool.release(connection)
        # It failed as a whole, so nothing is done twice.
        async with self.connection() as renewed:
            return await renewed.fetch(query, *arguments)

    async def fetchrow(self, query: str, *arguments: object) -> asyncpg.Record | None:
        # Likewise.
        connection = await self._acquire()
        try:
            return await connection.fetchrow(query, *arguments)
        except OUTDATED as error:
            if not self._renews(connection, error):
                raise _unavailable("the store failed", error) from None
        except BaseException as error:
            self._explain(error, connection)
            raise
        finally:
            self._pool.release(connection)
        # It failed as a whole, so nothing is done twice.
        async with self.connection() as renewed:
            return await renewed.fetchrow(query, *arguments)

    async def fetchval(self, query: str, *arguments: object) -> Any:
        row = await self.fetchrow(query, *arguments)
        return None if row is None else row[0]

    async def execute(self, query: str, *arguments: object) -> int:
        """Run a statement and return how many rows it affected."""
        async with self.connection() as connection:
            tag = await connection.execute(query, *arguments)
        count = tag.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    async def executemany(self, query: str, arguments: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each set of arguments, all or nothing."""
        async with self.connection() as connection:
            await connection.executemany(query, arguments)

    async def is_up(self) -> bool:
        """Query the store, for at most two seconds, on a connection reserved for this.

        It is made in the same way as those of requests, so that it fails when they would.
        """
        try:
            async with asyncio.timeout(_HEALTH_SECONDS), self._probing:
                now = asyncio.get_running_loop().time()
                if self._probe is not None and now - self._probed_at > IDLE_SECONDS:
                    self._probe.terminate()
                self._probed_at = now
                if self._probe is None or self._probe.is_closed():
                    self._probe = await self._connect()
                return bool(await self._probe.fetchval("SELECT NOT pg_is_in_recovery()"))
        except (TimeoutError, *STORE_FAULTS) as error:
            log.warning("store is down", extra={"reason": reason_of(error)})
            if self._probe is not None:
                self._probe.terminate()
                self._probe = None
            return False

    def usage(self) -> tuple[int, int]:
        """Connections that are open, and those of them in use."""
        return self._pool.size, self._pool.used

    def expire(self) -> None:
        """Replace every connection; those in use when they are released."""
        self._pool.expire()

    async def _acquire(self) -> asyncpg.Connection:
        try:
            return await self._pool.acquire(self._settings.pool_timeout)
        except TimeoutError as error:
            raise _unavailable("every connection to the store is busy", error) from None
        except STORE_FAULTS as error:
            raise _unavailable("the store does not accept connections", error) from None

    def _explain(self, error: BaseException, connection: asyncpg.Connection) -> None:
        """Raise `StoreUnavailable` if the store failed; close a connection that is not reusable."""
        match error:
            case asyncio.CancelledError():
                connection.terminate()  # it still waits for an answer
            case TimeoutError():
                connection.terminate()  # so does this one
                self._pool.expire_idle()
                raise _unavailable("the store did not answer in time", error) from None
            case asyncpg.InternalClientError():
                connection.terminate()
                self._pool.expire_idle()
                raise _unavailable("the connection to the store was lost", error) from None
            case asyncpg.QueryCanceledError():
                raise _unavailable("the store took too long", error) from None
            case asyncpg.ReadOnlySQLTransactionError():
                # The primary has become a standby: look for the new one.
                self._pool.expire()
                raise _unavailable("the store does not accept writes", error) from None
            case asyncpg.InternalServerError() | asyncpg.SyntaxOrAccessError():
                self._renews(connection, error)
                raise _unavailable("the store failed", error) from None
            case Exception() if isinstance(error, STORE_FAULTS) and not isinstance(
                error, DATA_FAULTS
            ):
                if connection.is_closed():
                    self._pool.expire_idle()
                raise _unavailable("the store failed", error) from None

    def _renews(self, connection: asyncpg.Connection, error: Exception) -> bool:
        """Whether the statement may succeed on the next connection: then that is a new one.

        All are replaced, but not more often than once a second: the schema may be missing.
        """
        if isinstance(error, _NOT_OUTDATED):
            return False
        if self._pool.is_expired(connection):
            return True
        now = asyncio.get_running_loop().time()
        if now - self._renewed_at < _RENEWAL_SECONDS:
            return False
        self._renewed_at = now
        fields = {"reason": reason_of(error), "sqlstate": getattr(error, "sqlstate", None)}
        log.warning("the schema may have changed: making new connections", extra=fields)
        self._pool.expire()
        return True

    async def _connect(self) -> asyncpg.Connection:
        connection = await connect(
            self._settings,
            name=self._name,
            session=self._session,
            command_timeout=self._settings.statement_timeout + 1,
        )
        try:
            path = "" if self._search_path is None else f"SET search_path = {self._search_path};"
            await connection.execute(
                # An acknowledged write is durable, whatever the database's default is.
                f"{path}SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
            if self._prepare is not None:
                await self._prepare(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection


def _unavailable(message: str, error: Exception) -> StoreUnavailable:
    # Only the type and the SQLSTATE: the text of an error may quote the data.
    fields = {"reason": reason_of(error), "sqlstate": getattr(error, "sqlstate", None)}
    log.warning(message, extra=fields)
    return StoreUnavailable(message)
