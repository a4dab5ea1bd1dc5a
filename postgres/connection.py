"""The one way in which connections to PostgreSQL are made."""

import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg

from postgres.settings import DatabaseSettings

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
_CLOSE_SECONDS = 5.0
# The server looks after a silent connection, which also keeps the network from forgetting it.
_KEEP_ALIVE = {
    "tcp_keepalives_idle": "60",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}


async def connect(
    settings: DatabaseSettings,
    *,
    name: str,
    session: Mapping[str, str] | None = None,
    command_timeout: float | None = None,
) -> asyncpg.Connection:
    """One connection, with these server settings.

    They are set after connecting: a pooler in between refuses those that come with the connection.
    """
    url = settings.database_url or ""
    arguments: dict[str, Any] = {"dsn": url, "timeout": settings.connect_timeout}
    if "target_session_attrs" not in parse_qs(urlsplit(url).query):
        # Of several hosts, the one that accepts writes; after a failover, the new one.
        arguments["target_session_attrs"] = "read-write"
    connection: asyncpg.Connection = await asyncpg.connect(
        **arguments,
        command_timeout=command_timeout,
        # However long a statement is, it is planned once; by default asyncpg plans one of more than
        # 15 kB, as a search is, every time.
        max_cacheable_statement_size=0,
    )
    try:
        wanted = {"application_name": name, **_KEEP_ALIVE, **(session or {})}
        await connection.execute("; ".join(f"SET {key} = {_quoted(wanted[key])}" for key in wanted))
    except BaseException:
        connection.terminate()
        raise
    return connection


async def close(connection: asyncpg.Connection) -> None:
    """Close a connection; one whose server is silently gone is ended after a few seconds."""
    with suppress(TimeoutError, *STORE_FAULTS):
        await connection.close(timeout=_CLOSE_SECONDS)


def reason_of(error: Exception) -> str:
    """Why the store cannot be reached or failed, without what its text may quote."""
    if isinstance(error, socket.gaierror):
        return "the host name in the database URL cannot be resolved"
    return type(error).__name__


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
