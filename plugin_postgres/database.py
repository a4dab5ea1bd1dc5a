"""Connections to PostgreSQL. Whatever is wrong with the store comes out as `Unavailable`.

Faults of the data itself (SQLSTATE classes 22, 23 and 54) come out as they are, for the writer to
find the row that is to blame.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from contract import Unavailable
from plugin_postgres import migrations, pgvector, vectors
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


class _Connection(asyncpg.Connection):
    """Without the statements that asyncpg runs on every release: we leave nothing to reset."""

    __slots__ = ()

    def get_reset_query(self) -> str:
        return ""


async def connect(settings: Settings) -> asyncpg.Connection:
    """One connection outside the pool."""
    return await asyncpg.connect(**_arguments(settings))


class Database:
    """A pool of connections, and one more that only answers whether the store is up."""

    def __init__(self, settings: Settings) -> None:
        self.serves_vectors = True
        self._settings = settings
        self._pool = asyncpg.create_pool(
            **_arguments(settings),
            connection_class=_Connection,
            init=self._prepare,
            min_size=0,
            max_size=settings.pool_size,
            command_timeout=settings.statement_timeout + 1,
            server_settings={
                "application_name": "memory-plugin-postgres",
                "statement_timeout": f"{settings.statement_timeout * 1000:.0f}",
                # Our statements are short; compiling them costs more than it saves.
                "jit": "off",
                # One plan serves every argument: what to look up is decided inside the statements.
                "plan_cache_mode": "force_generic_plan",
            },
        )
        self._probe: asyncpg.Connection | None = None
        self._probing = asyncio.Lock()

    async def open(self) -> None:
        """Ready the pool. A store that is down is no obstacle: connections are made on demand."""
        await self._pool
        try:
            async with self.connection():
                pass
        except Unavailable as error:
            log.warning("store is down", extra={"reason": error.message})

    async def close(self) -> None:
        """Close every connection, by force where one does not close by itself."""
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._pool.close()
        except (TimeoutError, *STORE_FAULTS):
            self._pool.terminate()
        if self._probe is not None:
            self._probe.terminate()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[PoolConnectionProxy]:
        """A connection out of the pool; raises `Unavailable` rather than wait for long."""
        try:
            connection = await self._pool.acquire(timeout=self._settings.pool_timeout)
        except TimeoutError as error:
            raise _unavailable("every connection to the store is busy", error) from None
        except STORE_FAULTS as error:
            raise _unavailable("the store does not accept connections", error) from None
        try:
            yield connection
        except DATA_FAULTS:
            raise
        except TimeoutError as error:
            # It still waits for an answer; nobody else may get it.
            connection.terminate()
            raise _unavailable("the store did not answer in time", error) from None
        except asyncpg.InternalClientError as error:
            connection.terminate()
            raise _unavailable("the connection to the store broke", error) from None
        except asyncpg.QueryCanceledError as error:
            raise _unavailable("the store took too long", error) from None
        except asyncpg.ReadOnlySQLTransactionError as error:
            # The primary has become a standby: look for the new one.
            await self._pool.expire_connections()
            raise _unavailable("the store accepts no writes", error) from None
        except STORE_FAULTS as error:
            raise _unavailable("the store failed", error) from None
        finally:
            # The pool ends a connection that fails now; the work on it is done.
            with suppress(TimeoutError, *STORE_FAULTS):
                await self._pool.release(connection)

    async def fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        async with self.connection() as connection:
            return await connection.fetch(query, *arguments)

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
            log.warning("store is down", extra={"reason": type(error).__name__})
            if self._probe is not None:
                self._probe.terminate()
                self._probe = None
            return False

    def usage(self) -> tuple[int, int]:
        """Connections that are open, and those of them in use."""
        size = self._pool.get_size()
        return size, size - self._pool.get_idle_size()

    async def _prepare(self, connection: asyncpg.Connection) -> None:
        """What every new connection needs."""
        await connection.execute(
            f"SET search_path = {await pgvector.search_path(connection)};"
            # An answered write is durable, whatever the database's own default is.
            "SELECT set_config('synchronous_commit', 'on', false)"
            " WHERE current_setting('synchronous_commit') = 'off'"
        )
        self.serves_vectors = await migrations.serves_vectors(connection)
        if self.serves_vectors:
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
    fields = {"reason": type(error).__name__, "sqlstate": getattr(error, "sqlstate", None)}
    log.warning(message, extra=fields)
    return Unavailable(message, retry_after=_RETRY_SECONDS)
