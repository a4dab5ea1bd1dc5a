"""Numbered SQL files, applied in order under one lock, each in a transaction, and recorded.

A file whose first line is `-- needs: vector` is applied once pgvector is there: at the first
start, or at the first start after it was installed, so it must not rely on its order. Files are
never edited after a release: the checksum of each is recorded and compared.
"""

import hashlib
import re
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import asyncpg

from plugin_postgres import pgvector
from plugin_postgres.errors import DatabaseNewer, MigrationChanged, MigrationPending

# Any number will do, as long as every process that migrates uses the same.
_LOCK = 7_218_306_152_944
_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")

_RECORD = """
CREATE SCHEMA IF NOT EXISTS memory_plugin;
CREATE TABLE IF NOT EXISTS memory_plugin.plugin_migrations (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
"""


@dataclass(frozen=True)
class Migration:
    """One file of this folder."""

    version: int
    name: str
    sql: str = field(repr=False)

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def needs_vector(self) -> bool:
        return self.sql.startswith("-- needs: vector\n")


@cache
def available() -> tuple[Migration, ...]:
    """The migrations of this package, in order."""
    files = sorted(resources.files(__name__).iterdir(), key=lambda file: file.name)
    return tuple(
        Migration(int(match[1]), match[2], file.read_text("utf-8"))
        for file in files
        if (match := _NAME.fullmatch(file.name))
    )


async def migrate(
    connection: asyncpg.Connection, migrations: tuple[Migration, ...] | None = None
) -> list[Migration]:
    """Bring the schema up to date and return what was applied; safe to call from many at once."""
    migrations = available() if migrations is None else migrations
    await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
    try:
        # Looking first keeps a role without the right to create a schema able to start.
        if not await _recorded(connection):
            await connection.execute(_RECORD)
        has_vector = await pgvector.ensure(connection)
        search_path = await pgvector.search_path(connection)
        applied = []
        for migration in _outstanding(migrations, await _recorded(connection)):
            if migration.needs_vector and not has_vector:
                continue
            async with connection.transaction():
                await connection.execute(f"SET LOCAL search_path = {search_path}")
                await connection.execute(migration.sql)
                await connection.execute(
                    "INSERT INTO memory_plugin.plugin_migrations (version, name, checksum)"
                    " VALUES ($1, $2, $3)",
                    migration.version,
                    migration.name,
                    migration.checksum,
                )
            applied.append(migration)
        return applied
    finally:
        await connection.execute("SELECT pg_advisory_unlock($1)", _LOCK)


async def check(connection: asyncpg.Connection) -> None:
    """Refuse a schema that this release cannot serve, without changing anything."""
    pending = [
        migration
        for migration in _outstanding(available(), await _recorded(connection))
        if not migration.needs_vector
    ]
    if pending:
        names = ", ".join(f"{m.version:04d}_{m.name}" for m in pending)
        raise MigrationPending(
            f"the database lacks the migrations {names};"
            " run `memory-plugin-postgres migrate` or start without --skip-migrate"
        )


async def serves_vectors(connection: asyncpg.Connection) -> bool:
    """Whether the part of the schema that needs pgvector is there."""
    needed = {migration.version for migration in available() if migration.needs_vector}
    return bool(needed) and needed <= (await _recorded(connection)).keys()


async def _recorded(connection: asyncpg.Connection) -> dict[int, str]:
    if await connection.fetchval("SELECT to_regclass('memory_plugin.plugin_migrations')") is None:
        return {}
    rows = await connection.fetch("SELECT version, checksum FROM memory_plugin.plugin_migrations")
    return {row["version"]: row["checksum"] for row in rows}


def _outstanding(migrations: tuple[Migration, ...], recorded: dict[int, str]) -> list[Migration]:
    known = {migration.version: migration for migration in migrations}
    if newer := sorted(recorded.keys() - known.keys()):
        raise DatabaseNewer(
            f"the database has migration {newer[-1]:04d}, which this release does not know;"
            " install the release that applied it, or a later one"
        )
    for version, checksum in recorded.items():
        if known[version].checksum != checksum:
            raise MigrationChanged(
                f"migration {version:04d}_{known[version].name} is not the one that was applied to"
                " this database; install the release that applied it"
            )
    return [migration for migration in migrations if migration.version not in recorded]
