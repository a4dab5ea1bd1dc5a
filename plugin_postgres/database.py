"""Connections to PostgreSQL. Whatever is wrong with the store comes out as `Unavailable`.

Faults of the data itself (SQLSTATE classes 22, 23 and 54) come out as they are, for the writer to
find the row that is to blame.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg

from contract import Unavailable
from plugin_postgres import migrations, pgvector, vectors
from plugin_postgres.pool import Pool
from plugin_postgres.settings import Settings

DATA_FAULTS = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
)
# Its internal errors too: a connection that the server cut off can fail in that way, and so does
# a search for the host that accepts writes when there is none.
STORE_FAULTS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)
_HEALTH_SECONDS = 2.0
_CLOSE_SECONDS = 1.0
_RETRY_SECONDS = 1.0

log = logging.getLogger(__name__)


async def connect(settings: Settings) -> asyncpg.Connection:
    """One connection outside the pool."""
    return await asyncpg.connect(**_arguments(settings))


def reason_of(error: Exception) -> str:
    """Why the store cannot be reached or failed, without what its text may quote."""
    if isinstance(error, socket.gaierror):
        return "the host name in the database URL cannot be resolved"
    return type(error).__name__


class Database:
    """A pool of connections, and one more that only answers whether the store is up."""

    def __init__(self, settings: Settings) -> None:
        self.serves_vectors = True
        self._settings = settings
        self._pool = Pool(self._connect, settings.pool_size)
        self._probe: asyncpg.Connection | None = None
        self._probing = asyncio.Lock()

    async def open(self) -> None:
        """Ready the pool. A store that is down is no obstacle: connections are made on demand."""
        try:
            async with self.connection():
                pass
        except Unavailable as error:
            log.warning("store is down", extra={"reason": error.message})

    async def close(self) -> None:
        """Close every connection, by force where one does not close by itself."""
        with suppress(TimeoutError, *STORE_FAULTS):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._pool.close()
        if self._probe is not None:
            self._probe.terminate()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection out of the pool; raises `Unavailable` rather than wait for long."""
        connection = await self._acquire()
        try:
            yield connection
        except BaseException as error:
            self._explain(error, connection)
            raise
        finally:
            self._pool.release(connection)

    async def fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        # As `connection` does it, without the price of a context manager: every search is here.
        connection = await self._acquire()
        try:
            return await connection.fetch(query, *arguments)
        except BaseException as error:
            self._explain(error, connection)
            raise
        finally:
            self._pool.release(connection)

    async def fetchrow(self, query: str, *arguments: object) -> asyncpg.Record | None:
        async with self.connection() as connection:
            return await connection.fetchrow(query, *arguments)

    async def execute(self, query: str, *arguments: object) -> int:
        """Run a statement and return how many rows it touched."""
        async with self.connection() as connection:
            tag = await connection.execute(query, *arguments)
        return int(tag.rpartition(" ")[2])

    async def is_up(self) -> bool:
        """Ask the store, within two seconds, on a connection that no request can take away."""
        try:
            async with asyncio.timeout(_HEALTH_SECONDS), self._probing:
                if self._probe is None or self._probe.is_closed():
                    self._probe = await connect(self._settings)
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

    async def _acquire(self) -> asyncpg.Connection:
        try:
            return await self._pool.acquire(self._settings.pool_timeout)
        except TimeoutError as error:
            raise _unavailable("every connection to the store is busy", error) from None
        except STORE_FAULTS as error:
            raise _unavailable("the store does not accept connections", error) from None

    def _explain(self, error: BaseException, connection: asyncpg.Connection) -> None:
        """Raise `Unavailable` if the store is to blame, and end a connection nobody may get."""
        match error:
            case asyncio.CancelledError():
                connection.terminate()  # it still waits for an answer
            case TimeoutError():
                connection.terminate()  # so does this one
                raise _unavailable("the store did not answer in time", error) from None
            case asyncpg.InternalClientError():
                connection.terminate()
                raise _unavailable("the connection to the store broke", error) from None
            case asyncpg.QueryCanceledError():
                raise _unavailable("the store took too long", error) from None
            case asyncpg.ReadOnlySQLTransactionError():
                # The primary has become a standby: look for the new one.
                self._pool.expire()
                raise _unavailable("the store accepts no writes", error) from None
            case Exception() if isinstance(error, STORE_FAULTS) and not isinstance(
                error, DATA_FAULTS
            ):
                raise _unavailable("the store failed", error) from None

    async def _connect(self) -> asyncpg.Connection:
        connection: asyncpg.Connection = await asyncpg.connect(
            **_arguments(self._settings),
            command_timeout=self._settings.statement_timeout + 1,
            server_settings={
                "application_name": "memory-plugin-postgres",
                "statement_timeout": f"{self._settings.statement_timeout * 1000:.0f}",
                # Our statements are short; compiling them costs more than it saves.
                "jit": "off",
                # One plan serves every argument: what to look up is decided inside the statements.
                "plan_cache_mode": "force_generic_plan",
            },
        )
        try:
            await self._prepare(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _prepare(self, connection: asyncpg.Connection) -> None:
        await connection.execute(
            f"SET search_path = {await pgvector.search_path(connection)};"
            # An answered write is durable, whatever the database's own default is.
            "SELECT set_config('synchronous_commit', 'on', false)"
            " WHERE current_setting('synchronous_commit') = 'off'"
        )
        serves_vectors = await migrations.serves_vectors(connection)
        if serves_vectors != self.serves_vectors:
            # The others were made before pgvector came, and cannot send vectors.
            self.serves_vectors = serves_vectors
            self._pool.expire()
        if serves_vectors:
            await pgvector.register(connection)
            await connection.execute(vectors.SESSION)


def _arguments(settings: Settings) -> dict[str, Any]:
    url = settings.database_url or ""
    arguments: dict[str, Any] = {"dsn": url, "timeout": settings.connect_timeout}
    if "target_session_attrs" not in parse_qs(urlsplit(url).query):
        # Of several hosts, the one that accepts writes; after a failover, the new one.
        arguments["target_session_attrs"] = "read-write"
    return arguments


def _unavailable(message: str, error: Exception) -> Unavailable:
    # Only the type and the SQLSTATE: the text of an error may quote the data.
    fields = {"reason": reason_of(error), "sqlstate": getattr(error, "sqlstate", None)}
    log.warning(message, extra=fields)
    return Unavailable(message, retry_after=_RETRY_SECONDS)
