"""Before serving: a database that answers and has our schema."""

import asyncio
import logging
import time
from contextlib import suppress

import asyncpg

from plugin_postgres import migrations
from plugin_postgres.database import STORE_FAULTS, connect, reason_of
from plugin_postgres.errors import BadSetting, DatabaseUnreachable, MigrationFailed
from plugin_postgres.settings import Settings

_PAUSE_SECONDS = 0.5
_CLOSE_SECONDS = 5.0

log = logging.getLogger(__name__)


async def prepare(settings: Settings) -> None:
    """Wait for the database, then migrate it, or only check it with `--skip-migrate`."""
    connection = await _reach(settings)
    try:
        _require_utf8(connection)
        if settings.skip_migrate:
            await migrations.check(connection)
        else:
            for migration in await migrations.migrate(connection):
                log.info(
                    "migrated", extra={"version": migration.version, "migration": migration.name}
                )
        if not await migrations.serves_vectors(connection):
            log.warning("pgvector 0.8 or later is missing: serving without embeddings")
    except asyncpg.InsufficientPrivilegeError:
        raise MigrationFailed(
            "the role in --database-url lacks a right that migrating needs; run"
            " `memory-plugin-postgres migrate` once as a role that may create and alter the"
            " schema memory_plugin"
        ) from None
    except STORE_FAULTS as error:
        raise MigrationFailed(
            f"the database failed while its schema was prepared ({type(error).__name__});"
            " its log says why; start again"
        ) from None
    finally:
        with suppress(TimeoutError, *STORE_FAULTS):
            await connection.close(timeout=_CLOSE_SECONDS)


async def _reach(settings: Settings) -> asyncpg.Connection:
    deadline = time.monotonic() + settings.startup_timeout
    while True:
        try:
            return await connect(settings)
        except ValueError:
            # Not its text: that may quote a piece of a password with a / that was not escaped.
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
                f"the database refuses the connection ({type(error).__name__}):"
                " check the user, the password and the name in --database-url"
            ) from None
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
    """In another encoding some memories would be refused, and found under other words."""
    encoding = connection.get_settings().server_encoding
    if encoding != "UTF8":
        raise BadSetting(
            f"the database in --database-url is encoded in {encoding}; memories need UTF8: make"
            " one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
