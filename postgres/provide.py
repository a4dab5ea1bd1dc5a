"""Before serving: a database that answers and has the service's schema."""

import asyncio
import logging
import secrets
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import asyncpg

from postgres.connection import STORE_FAULTS, WRONG_PARAMETER, close, connect, reason_of
from postgres.embedded import embedded_postgres
from postgres.errors import DatabaseUnreachable, MigrationFailed
from postgres.schema import Migration, Schema
from postgres.settings import DatabaseSettings
from serving.errors import BadSetting

_PAUSE_SECONDS = 0.5
_MARKS = 5
_NO_SESSIONS = (
    "the pooler in --database-url shares one session between clients (pool_mode = transaction or"
    " statement); set pool_mode = session for this database, or connect to PostgreSQL directly"
)
# The errors of a client that meets another one's prepared statements.
_SHARED_SESSION = (
    asyncpg.DuplicatePreparedStatementError,
    asyncpg.InvalidSQLStatementNameError,
)

S = TypeVar("S", bound=DatabaseSettings)
Afterwards = Callable[[asyncpg.Connection], Awaitable[None]]

log = logging.getLogger(__name__)


@contextmanager
def database_for(
    settings: S, schema: Schema, *, command: str, afterwards: Afterwards | None = None
) -> Iterator[S]:
    """The settings with the URL of a database that is up and migrated, or checked.

    It is the given one, or that of an embedded PostgreSQL that stops with the context. `command` is
    the name of the service, for connections and messages. `afterwards` inspects the database once
    it is ready.
    """
    with server_for(settings) as settings:
        asyncio.run(prepare(settings, schema, command=command, afterwards=afterwards))
        yield settings


@contextmanager
def server_for(settings: S) -> Iterator[S]:
    """The settings with a database URL: the given one, or that of an embedded PostgreSQL."""
    if settings.database_url:
        yield settings
        return
    with embedded_postgres(settings.data_dir) as url:
        log.info("embedded PostgreSQL is running", extra={"data_dir": str(settings.data_dir)})
        try:
            yield replace(settings, database_url=url)
        finally:
            log.info("embedded PostgreSQL is stopping")


async def prepare(
    settings: DatabaseSettings,
    schema: Schema,
    *,
    command: str,
    afterwards: Afterwards | None = None,
) -> None:
    """Wait for the database, then migrate it, or only check it with `--skip-migrate`."""
    connection = await _reach(settings, command)
    try:
        await _require_sessions(settings, connection, command)
        _require_utf8(connection)
        if settings.skip_migrate:
            await schema.check(connection)
        else:
            for file in await schema.migrate(connection):
                version = {"version": file.version} if isinstance(file, Migration) else {}
                log.info("migrated", extra={**version, "migration": file.name})
        if afterwards is not None:
            await afterwards(connection)
    except asyncpg.InsufficientPrivilegeError:
        raise MigrationFailed(
            "the role in --database-url lacks a privilege that migration needs; run"
            f" `{command} migrate` once as a role that may create and alter the"
            f" schema {schema.name}"
        ) from None
    except _SHARED_SESSION as error:
        raise BadSetting(_NO_SESSIONS) from error
    except STORE_FAULTS as error:
        raise MigrationFailed(
            f"the database failed during migration ({type(error).__name__});"
            " its log says why; start again"
        ) from None
    finally:
        await close(connection)


async def _require_sessions(
    settings: DatabaseSettings, connection: asyncpg.Connection, command: str
) -> None:
    """Refuse a pooler that shares sessions between clients: settings and locks would leak."""
    look = "SELECT current_setting('memory_plugins.mark', true)"
    other = await connect(settings, name=command)
    try:
        # Such a pooler hands out the most recently used session next, or all of them in turn: then
        # each may come back to its client by chance, but not again and again.
        for _ in range(_MARKS):
            mark = secrets.token_hex(8)
            await connection.execute(f"SET memory_plugins.mark = '{mark}'")
            if await other.fetchval(look) == mark or await connection.fetchval(look) != mark:
                raise BadSetting(_NO_SESSIONS)
    except _SHARED_SESSION as error:
        raise BadSetting(_NO_SESSIONS) from error
    finally:
        await close(other)


async def _reach(settings: DatabaseSettings, command: str) -> asyncpg.Connection:
    deadline = time.monotonic() + settings.startup_timeout
    while True:
        try:
            return await connect(settings, name=command)
        except ssl.SSLError as error:
            # Before ValueError: that a certificate cannot be verified is one as well.
            reason = reason_of(error)
        except ValueError:
            # Not its text: that may quote part of a password that contains an unescaped /.
            raise BadSetting(
                "--database-url is not a PostgreSQL URL, such as"
                " postgresql://user:password@host:5432/database; in a password / ? # and @ are"
                " written %2F %3F %23 and %40"
            ) from None
        except (
            asyncpg.InvalidAuthorizationSpecificationError,
            asyncpg.InvalidCatalogNameError,
        ) as error:
            raise DatabaseUnreachable(
                f"the database refused the connection ({type(error).__name__}):"
                " check the user, the password and the name in --database-url"
            ) from None
        except WRONG_PARAMETER as error:
            # Not its text either.
            raise BadSetting(
                "the server refuses a parameter after the ? in --database-url"
                f" ({type(error).__name__}); leave it out"
            ) from None
        except _SHARED_SESSION as error:
            raise BadSetting(_NO_SESSIONS) from error
        except STORE_FAULTS as error:
            reason = reason_of(error)
        if time.monotonic() >= deadline:
            raise DatabaseUnreachable(
                f"the database does not accept connections ({reason}): check --database-url,"
                " or allow it more time with --startup-timeout"
            )
        log.info("waiting for the database", extra={"reason": reason})
        await asyncio.sleep(_PAUSE_SECONDS)


def _require_utf8(connection: asyncpg.Connection) -> None:
    """In another encoding, some texts would be refused or split into other words."""
    encoding = connection.get_settings().server_encoding
    if encoding != "UTF8":
        raise BadSetting(
            f"the database in --database-url is encoded in {encoding}; it must be UTF8: make"
            " one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
