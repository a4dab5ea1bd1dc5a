"""The legacy database: read only, in one snapshot, a page at a time."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID, uuid4

import asyncpg

from backfill.errors import ConfigurationError, SourceUnavailable
from backfill.mapping import DEEPEST_CHAIN, LegacyRow, Workspace, Workspaces
from backfill.selection import Selection
from postgres.url import for_driver

_REQUIRED = {
    "agent_memories": {
        "id": "uuid",
        "workspace_id": "uuid",
        "content": None,
        "scope": None,
        "created_at": None,
    },
    "workspaces": {"id": "uuid", "name": None, "parent_id": "uuid", "status": None},
}
_OPTIONAL = ("namespace", "embedding", "updated_at")
_CONNECT_SECONDS = 10
_PAGE_BYTES = 8 * 1024 * 1024
_PAGE_ROWS = 1000
_EMBEDDING_BYTES = 20_000
_WRONG_ADDRESS = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.ClientConfigurationError,
)
# Internal errors too: a connection fails with one if the server cuts it off between two answers.
_GONE = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)

Order = Literal["slot", "oldest"]
_ORDERS: dict[Order, str] = {
    "slot": "pair.slot NULLS FIRST, m.id",
    "oldest": "m.created_at NULLS FIRST, m.id",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """The rows of one workspace in one scope: they all go to the same namespace."""

    workspace_id: UUID | None
    scope: str | None
    rows: int
    bytes: int
    longest: int


@dataclass(frozen=True, slots=True)
class Known:
    """Where a row of the legacy table is, and whether the run looks at it."""

    workspace_id: UUID | None
    scope: str | None
    is_chosen: bool


@dataclass(frozen=True)
class Slots:
    """A number for each pair that has a namespace; rows can be read in that order."""

    workspace_ids: Sequence[UUID]
    scopes: Sequence[str]
    numbers: Sequence[int]


class Legacy:
    """The legacy tables as they were at one instant."""

    def __init__(self, connection: Any, columns: set[str], encoding: str) -> None:
        self._connection = connection
        self._encoding = encoding
        # Only one connection has the snapshot, and it runs one statement at a time.
        self._turn = asyncio.Lock()
        self.has_embedding = "embedding" in columns
        self._columns = columns

    async def workspaces(self) -> Workspaces:
        """All workspaces, resolved once."""
        rows = await self._fetch(_sql("workspaces"), DEEPEST_CHAIN)
        return Workspaces(Workspace(**row) for row in rows)

    async def survey(self, selection: Selection) -> list[Pair]:
        """How many rows there are, by workspace and scope."""
        query = _sql("survey").format(chosen=_sql("chosen"))
        rows = await self._fetch(query, selection.workspace, selection.limit)
        return [Pair(**row) for row in rows]

    async def known(
        self, ids: Sequence[UUID], selection: Selection, workspaces: Sequence[UUID] | None
    ) -> dict[UUID, Known]:
        """Those of the ids that exist in the legacy table."""
        query = _sql("known").format(chosen=_sql("chosen"))
        rows = await self._fetch(query, selection.workspace, selection.limit, ids, workspaces)
        return {
            row["id"]: Known(row["workspace_id"], row["scope"], bool(row["is_chosen"]))
            for row in rows
        }

    async def rows(
        self,
        selection: Selection,
        slots: Slots,
        *,
        order: Order,
        longest: int,
        workspaces: Sequence[UUID] | None = None,
        ids: Sequence[UUID] | None = None,
        embeddings: bool = False,
    ) -> AsyncIterator[list[LegacyRow]]:
        """Pages of rows. `longest` bounds a page's bytes; the next page is read ahead."""
        with_embedding = embeddings and self.has_embedding
        query = _sql("rows").format(
            chosen=_sql("chosen"),
            encoding=f"'{self._encoding}'",
            order=_ORDERS[order],
            updated_at="m.updated_at" if "updated_at" in self._columns else "NULL::timestamptz",
            namespace="m.namespace::text" if "namespace" in self._columns else "NULL::text",
            embedding="m.embedding::text" if with_embedding else "NULL::text",
        )
        size = max(longest, 1) + (_EMBEDDING_BYTES if with_embedding else 0)
        count = max(1, min(_PAGE_ROWS, _PAGE_BYTES // size))
        with _reading():
            async with self._turn:
                cursor = await self._connection.cursor(
                    query,
                    selection.workspace,
                    selection.limit,
                    workspaces,
                    slots.workspace_ids,
                    slots.scopes,
                    slots.numbers,
                    ids,
                )
        following = asyncio.create_task(self._page(cursor, count))
        try:
            while page := await following:
                following = asyncio.create_task(self._page(cursor, count))
                yield page
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _page(self, cursor: Any, count: int) -> list[LegacyRow]:
        with _reading():
            async with self._turn:
                records = await cursor.fetch(count)
        return [LegacyRow(*record) for record in records]

    async def _fetch(self, query: str, *values: Any) -> list[Any]:
        with _reading():
            async with self._turn:
                rows: list[Any] = await self._connection.fetch(query, *values)
                return rows


class _Connection(asyncpg.Connection):
    """Uses names that no other client has used on a server connection that a pooler shares."""

    def _get_unique_id(self, prefix: str) -> str:
        return f"memory_backfill_{prefix}_{uuid4().hex}"


@asynccontextmanager
async def open_legacy(url: str) -> AsyncIterator[Legacy]:
    """Connect, check that the tables have the expected columns, and hold one snapshot of them."""
    connection = await _connect(url)
    try:
        with _reading():
            # Everything happens in one transaction: behind a pooler, the next one may be on
            # another connection, with other settings and another snapshot.
            await connection.transaction(isolation="repeatable_read", readonly=True).start()
            await connection.execute(_sql("session"))
            columns = await _check_tables(connection)
            encoding = await connection.fetchval("SHOW server_encoding")
        # SQL_ASCII means an unknown encoding: the bytes come unchanged and are checked row by row.
        yield Legacy(connection, columns, "SQL_ASCII" if encoding == "SQL_ASCII" else "UTF8")
    finally:
        # Nothing was written, so there is nothing to finish.
        connection.terminate()


def describe(url: str) -> str:
    """The address without what must not be printed."""
    try:
        parts = urlsplit(url)
        # An @ after the host: the password contains a /, and what looks like the path is secret.
        if parts.scheme not in ("postgres", "postgresql") or "@" in parts.path:
            return "(no PostgreSQL URL)"
        host = parts.hostname or parse_qs(parts.query).get("host", ["localhost"])[0]
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(no PostgreSQL URL)"
    return f"{host}{port}{parts.path}"


async def _connect(url: str) -> Any:
    try:
        return await asyncpg.connect(
            for_driver(url),
            timeout=_CONNECT_SECONDS,
            command_timeout=None,
            # Each statement is used once.
            statement_cache_size=0,
            connection_class=_Connection,
        )
    except _WRONG_ADDRESS as error:
        raise ConfigurationError(
            f"the legacy database {describe(url)} refused the connection: {_reason(error, url)};"
            " check DATABASE_URL"
        ) from None
    except ValueError:
        # Its text may quote part of a password that contains an unescaped / or ?.
        raise ConfigurationError(
            "DATABASE_URL is not a PostgreSQL address, such as"
            " postgres://user:password@host:5432/database; in a password / ? # and @ are written"
            " %2F %3F %23 and %40"
        ) from None
    except (TimeoutError, *_GONE) as error:
        raise SourceUnavailable(
            f"the legacy database {describe(url)} cannot be reached: {_reason(error, url)}"
        ) from None
    except asyncpg.PostgresError as error:
        raise ConfigurationError(
            f"the legacy database {describe(url)} refused the connection: {_reason(error, url)};"
            " check DATABASE_URL, and its parameters after the ?"
        ) from None


async def _check_tables(connection: Any) -> set[str]:
    """The columns of `agent_memories`; raises if a table or column that we need is missing."""
    found: dict[str, dict[str, str]] = {table: {} for table in _REQUIRED}
    for row in await connection.fetch(_sql("columns")):
        found[row["table_name"]][row["column_name"]] = row["type"]
    for table, needed in _REQUIRED.items():
        if not found[table]:
            raise ConfigurationError(
                f"the database has no table {table}: is DATABASE_URL the legacy database?"
            )
        missing = sorted(needed.keys() - found[table].keys())
        if missing:
            raise ConfigurationError(f"the table {table} has no column {', '.join(missing)}")
        for column, kind in needed.items():
            if kind is not None and found[table][column] != kind:
                raise ConfigurationError(
                    f"the column {table}.{column} is {found[table][column]}, not {kind}"
                )
    return set(found["agent_memories"]) & {*_OPTIONAL, *_REQUIRED["agent_memories"]}


@contextmanager
def _reading() -> Iterator[None]:
    """Turns the driver's exceptions into ours."""
    try:
        yield
    except asyncpg.InsufficientPrivilegeError as error:
        raise ConfigurationError(
            f"the account in DATABASE_URL may not read the legacy database: {error}"
        ) from None
    except _GONE as error:
        raise SourceUnavailable(
            f"the connection to the legacy database was lost ({type(error).__name__}: {error});"
            " run the same command again to continue where it stopped"
        ) from None
    except asyncpg.PostgresError as error:
        raise ConfigurationError(
            f"the legacy tables cannot be read ({type(error).__name__}: {error})"
        ) from None


def _reason(error: Exception, url: str) -> str:
    """The driver's message, unless it repeats the address with its secrets."""
    if isinstance(error, socket.gaierror):
        return "its host name cannot be resolved; check DATABASE_URL"
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    secrets = _secrets(url)
    return type(error).__name__ if any(secret in text for secret in secrets) else text


def _secrets(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return [url]
    found = [parts.password, *parse_qs(parts.query).get("password", [])]
    return [form for secret in found if secret for form in (secret, unquote(secret))]


@cache
def _sql(name: str) -> str:
    return resources.files("backfill").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
