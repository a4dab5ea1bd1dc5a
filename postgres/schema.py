"""A schema made of SQL files: numbered ones applied once, repeatable ones whenever they changed.

A package holds `0001_name.sql` and so on, applied in order under one lock, each in a transaction,
and recorded. They are never edited after a release: the checksum of each is recorded and compared.
What can be replaced at any time, such as ranking functions, is in `repeatable/name.sql`: the whole
file is applied, after the numbered ones, when its checksum is not the recorded one.

A file whose first line is `-- needs: feature` is applied once the feature is available, which may
be at a later start, so it must not rely on its position.

A release that finds migrations it does not know refuses to serve, unless each of them permits it: a
line `-- serves: 0003` at the top of a file means that a release whose last migration is 0003 can
still serve the database afterwards. So a rolling upgrade can restart either release.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Protocol

import asyncpg

from postgres.errors import DatabaseNewer, MigrationChanged, MigrationPending

_NUMBERED = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_REPEATABLE = re.compile(r"([a-z0-9_]+)\.sql")
_NEEDS = re.compile(r"-- needs: (\w+)\n")
_SERVES = re.compile(r"(?:-- .*\n)*?-- serves: (\d{4})\n")

Feature = Callable[[asyncpg.Connection], Awaitable[bool]]
"""Ensures something that a file needs; returns whether it is available."""


class Adopt(Protocol):
    """Adopts what an earlier program left in the database; `fresh`: our schema is new."""

    async def __call__(self, connection: asyncpg.Connection, *, fresh: bool) -> None: ...


@dataclass(frozen=True)
class Repeatable:
    """A file that is applied whenever its text changed."""

    name: str
    sql: str = field(repr=False)

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def needs(self) -> str | None:
        """The feature without which the file cannot be applied."""
        match = _NEEDS.match(self.sql)
        return match[1] if match else None


@dataclass(frozen=True)
class Migration(Repeatable):
    """A file that is applied once."""

    version: int

    def __str__(self) -> str:
        return f"{self.version:04d}_{self.name}"

    @property
    def serves_from(self) -> int:
        """The last migration of the oldest release that can serve after this one."""
        match = _SERVES.match(self.sql)
        return int(match[1]) if match else self.version


@dataclass(frozen=True)
class Schema:
    """One service's part of a database.

    `features` ensures, by name, what files may need. `search_path` is for a schema that uses
    objects outside itself. `adopt` is called at every migration, in the transaction that creates a
    fresh schema.
    """

    name: str
    package: str
    table: str = "migrations"
    features: Mapping[str, Feature] = field(default_factory=dict)
    search_path: Callable[[asyncpg.Connection], Awaitable[str]] | None = None
    adopt: Adopt | None = None

    @cached_property
    def migrations(self) -> tuple[Migration, ...]:
        """The numbered files, in order."""
        files = sorted(resources.files(self.package).iterdir(), key=lambda file: file.name)
        return tuple(
            Migration(match[2], file.read_text("utf-8"), int(match[1]))
            for file in files
            if (match := _NUMBERED.fullmatch(file.name))
        )

    @cached_property
    def repeatables(self) -> tuple[Repeatable, ...]:
        """The repeatable files, in the order of their names."""
        folder = resources.files(self.package) / "repeatable"
        if not folder.is_dir():
            return ()
        files = sorted(folder.iterdir(), key=lambda file: file.name)
        return tuple(
            Repeatable(match[1], file.read_text("utf-8"))
            for file in files
            if (match := _REPEATABLE.fullmatch(file.name))
        )

    def lock(self, purpose: str) -> int:
        """The number of an advisory lock that only this schema uses for this purpose."""
        digest = hashlib.sha256(f"{self.name}/{purpose}".encode()).digest()
        return int.from_bytes(digest[:8], signed=True)

    async def migrate(
        self,
        connection: asyncpg.Connection,
        migrations: tuple[Migration, ...] | None = None,
        repeatables: tuple[Repeatable, ...] | None = None,
    ) -> list[Repeatable]:
        """Bring the schema up to date and return what was applied; concurrent calls are safe."""
        migrations = self.migrations if migrations is None else migrations
        repeatables = self.repeatables if repeatables is None else repeatables
        lock = self.lock("migrate")
        await connection.execute("SELECT pg_advisory_lock($1)", lock)
        try:
            async with connection.transaction():
                await self._make_tables(connection, with_repeatables=bool(repeatables))
            if await self._is_newer(connection, migrations):
                return []
            there = {name: await ensure(connection) for name, ensure in self.features.items()}
            path = await self._path(connection)
            changed = self._changed(repeatables, await self._recorded_repeatables(connection))
            applied: list[Repeatable] = []
            outstanding = self._outstanding(migrations, await self.recorded(connection))
            for file in (*outstanding, *changed):
                if file.needs is None or there.get(file.needs, False):
                    await self._apply(connection, file, path)
                    applied.append(file)
            return applied
        finally:
            await connection.execute("SELECT pg_advisory_unlock($1)", lock)

    async def check(self, connection: asyncpg.Connection) -> None:
        """Refuse a schema that this release cannot serve, without changing anything."""
        if await self._is_newer(connection, self.migrations):
            return
        outstanding = self._outstanding(self.migrations, await self.recorded(connection))
        changed = self._changed(self.repeatables, await self._recorded_repeatables(connection))
        pending = [str(file) for file in outstanding if file.needs is None]
        pending += [f"repeatable/{file.name}" for file in changed if file.needs is None]
        if pending:
            raise MigrationPending(
                f"the database lacks the migrations {', '.join(pending)} of the schema {self.name};"
                " run the command `migrate` or start without --skip-migrate"
            )

    async def has(self, connection: asyncpg.Connection, feature: str) -> bool:
        """Whether the part of the schema that needs this feature exists."""
        needed = {file.version for file in self.migrations if file.needs == feature}
        return bool(needed) and needed <= (await self.recorded(connection)).keys()

    async def recorded(self, connection: asyncpg.Connection) -> dict[int, str]:
        """The checksums of the migrations that were applied, by version."""
        if not await _exists(connection, f"{self.name}.{self.table}"):
            return {}
        rows = await connection.fetch(
            f"SELECT version, checksum FROM {self.name}.{self.table}"  # noqa: S608 - our own names
        )
        return {row["version"]: row["checksum"] for row in rows}

    async def _recorded_repeatables(self, connection: asyncpg.Connection) -> dict[str, str]:
        if not await _exists(connection, f"{self.name}.repeatables"):
            return {}
        rows = await connection.fetch(
            f"SELECT name, checksum FROM {self.name}.repeatables"  # noqa: S608 - our own names
        )
        return {row["name"]: row["checksum"] for row in rows}

    async def _make_tables(self, connection: asyncpg.Connection, *, with_repeatables: bool) -> None:
        # Checking first lets a role start that may not create schemas.
        fresh = not await _exists(connection, f"{self.name}.{self.table}")
        if fresh:
            await connection.execute(
                f"CREATE SCHEMA IF NOT EXISTS {self.name};"
                f"CREATE TABLE {self.name}.{self.table} ("
                " version integer PRIMARY KEY,"
                " name text NOT NULL,"
                " checksum text NOT NULL,"
                " applied_at timestamptz NOT NULL DEFAULT now(),"
                " serves_from integer)"
            )
        elif not await self._says_who_serves(connection):
            await connection.execute(
                f"ALTER TABLE {self.name}.{self.table} ADD COLUMN serves_from integer"
            )
        if self.adopt is not None:
            await self.adopt(connection, fresh=fresh)
        if with_repeatables and not await _exists(connection, f"{self.name}.repeatables"):
            await connection.execute(
                f"CREATE TABLE {self.name}.repeatables ("
                " name text PRIMARY KEY,"
                " checksum text NOT NULL,"
                " applied_at timestamptz NOT NULL DEFAULT now())"
            )

    async def _path(self, connection: asyncpg.Connection) -> str:
        return self.name if self.search_path is None else await self.search_path(connection)

    async def _apply(self, connection: asyncpg.Connection, file: Repeatable, path: str) -> None:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL search_path = {path}")
            await connection.execute(file.sql)
            if isinstance(file, Migration):
                await connection.execute(
                    f"INSERT INTO {self.name}.{self.table}"  # noqa: S608 - our own names
                    " (version, name, checksum, serves_from) VALUES ($1, $2, $3, $4)",
                    file.version,
                    file.name,
                    file.checksum,
                    file.serves_from,
                )
            else:
                await connection.execute(
                    f"INSERT INTO {self.name}.repeatables (name, checksum)"  # noqa: S608
                    " VALUES ($1, $2) ON CONFLICT (name)"
                    " DO UPDATE SET checksum = excluded.checksum, applied_at = now()",
                    file.name,
                    file.checksum,
                )

    async def _says_who_serves(self, connection: asyncpg.Connection) -> bool:
        found: bool = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass($1)"
            " AND attname = 'serves_from' AND NOT attisdropped)",
            f"{self.name}.{self.table}",
        )
        return found

    async def _is_newer(
        self, connection: asyncpg.Connection, migrations: tuple[Migration, ...]
    ) -> bool:
        """Whether a later release has migrated it and permits this one to serve; else raises."""
        newer = (await self.recorded(connection)).keys() - {file.version for file in migrations}
        if not newer:
            return False
        last = max((file.version for file in migrations), default=0)
        oldest = None
        if await self._says_who_serves(connection):
            oldest = await connection.fetchval(
                f"SELECT max(coalesce(serves_from, version)) FROM {self.name}.{self.table}"  # noqa: S608
                " WHERE version = ANY($1::integer[])",
                list(newer),
            )
        if oldest is None or oldest > last:
            raise DatabaseNewer(
                f"the database has migration {max(newer):04d}, which this release does not know"
                " and which it cannot serve; install the release that applied it, or a later one"
            )
        return True

    @staticmethod
    def _changed(files: tuple[Repeatable, ...], recorded: dict[str, str]) -> list[Repeatable]:
        return [file for file in files if recorded.get(file.name) != file.checksum]

    @staticmethod
    def _outstanding(
        migrations: tuple[Migration, ...], recorded: dict[int, str]
    ) -> list[Migration]:
        known = {migration.version: migration for migration in migrations}
        for version, checksum in recorded.items():
            if known[version].checksum != checksum:
                raise MigrationChanged(
                    f"migration {known[version]} is not the one that was applied to"
                    " this database; install the release that applied it"
                )
        return [migration for migration in migrations if migration.version not in recorded]


async def _exists(connection: asyncpg.Connection, table: str) -> bool:
    return await connection.fetchval("SELECT to_regclass($1)", table) is not None
