"""The one way in which connections to PostgreSQL are made."""

import socket
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg

from postgres import hosts
from postgres.settings import DatabaseSettings
from postgres.url import for_driver

DATA_FAULTS = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
)
# asyncpg's internal errors too: they occur when the server cuts a connection off, and when none of
# several hosts accepts writes.
STORE_FAULTS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)
# A parameter after the ? of the URL that the server does not know, or has another value for.
WRONG_PARAMETER = (
    asyncpg.UndefinedObjectError,
    asyncpg.InvalidParameterValueError,
    asyncpg.CantChangeRuntimeParamError,
)
_CLOSE_SECONDS = 5.0
# The limit that a role or a database has is for others: a migration or an index may take longer,
# and would never be done. Requests have a limit of their own.
_LIMITS = {"statement_timeout": "0"}
# The server probes an idle connection, which also keeps the network from dropping it.
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

    They are set after connecting, because a pooler refuses settings in the startup message.
    """
    url = for_driver(settings.database_url or "")
    arguments: dict[str, Any] = {
        "timeout": settings.connect_timeout,
        "command_timeout": command_timeout,
        # Every statement is prepared once, however long; by default asyncpg prepares one of more
        # than 15 kB, such as a search, every time.
        "max_cacheable_statement_size": 0,
    }
    wish = parse_qs(urlsplit(url).query).get("target_session_attrs")
    if wish is None:
        # Of several hosts, the one that accepts writes; after a failover, the new one.
        arguments["target_session_attrs"] = "read-write"
    # Only the driver can prefer one kind of host and make do with another.
    urls = [url] if wish == ["prefer-standby"] else hosts.one_by_one(url)
    attempts = [partial(asyncpg.connect, it, **arguments) for it in urls]
    connection = await hosts.first(attempts)
    try:
        wanted = {"application_name": name, **_KEEP_ALIVE, **_LIMITS, **(session or {})}
        await connection.execute("; ".join(f"SET {key} = {_quoted(wanted[key])}" for key in wanted))
    except BaseException:
        connection.terminate()
        raise
    return connection


async def close(connection: asyncpg.Connection) -> None:
    """Close a connection; if its server does not respond, terminate it after a few seconds."""
    with suppress(TimeoutError, *STORE_FAULTS):
        await connection.close(timeout=_CLOSE_SECONDS)


def reason_of(error: Exception) -> str:
    """Why the store cannot be reached or failed, without the error's text, which may quote data."""
    if isinstance(error, socket.gaierror):
        return "the host name in the database URL cannot be resolved"
    return type(error).__name__


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
