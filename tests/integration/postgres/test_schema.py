"""A schema of SQL files: numbered ones once, repeatable ones whenever they changed."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from postgres.errors import DatabaseNewer, MigrationPending
from postgres.schema import Schema

pytestmark = pytest.mark.anyio

TABLE = "CREATE TABLE notes (id integer PRIMARY KEY);"
RANK_BY_ONE = "CREATE OR REPLACE FUNCTION rank() RETURNS integer LANGUAGE sql RETURN 1;"


@pytest.fixture
async def connection(database: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


class Package:
    """A package of SQL files that can be changed."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / name
        self.name = name
        (self.folder / "repeatable").mkdir(parents=True)
        (self.folder / "__init__.py").touch()
        self.write("0001_notes.sql", TABLE)
        self.write("repeatable/rank.sql", RANK_BY_ONE)

    def write(self, path: str, sql: str) -> None:
        (self.folder / path).write_text(sql)

    @property
    def schema(self) -> Schema:
        """As a process that starts now reads it."""
        return Schema("notes", package=self.name)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    name = f"notes_{tmp_path.name}"
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return Package(tmp_path, name)


async def rank(connection: asyncpg.Connection) -> int:
    found: int = await connection.fetchval("SELECT notes.rank()")
    return found


async def test_a_repeatable_file_is_applied_again_when_it_changed_and_only_then(
    connection: asyncpg.Connection, package: Package
) -> None:
    assert [it.name for it in await package.schema.migrate(connection)] == ["notes", "rank"]
    assert await rank(connection) == 1
    assert await package.schema.migrate(connection) == []
    package.write("repeatable/rank.sql", RANK_BY_ONE.replace("RETURN 1", "RETURN 2"))
    assert [it.name for it in await package.schema.migrate(connection)] == ["rank"]
    assert await rank(connection) == 2


async def test_repeatable_files_come_after_the_numbered_ones_in_the_order_of_their_names(
    connection: asyncpg.Connection, package: Package
) -> None:
    package.write("repeatable/z_last.sql", "CREATE OR REPLACE VIEW last AS SELECT * FROM first;")
    package.write("repeatable/a_first.sql", "CREATE OR REPLACE VIEW first AS SELECT * FROM notes;")
    applied = await package.schema.migrate(connection)
    assert [it.name for it in applied] == ["notes", "a_first", "rank", "z_last"]


async def test_a_repeatable_file_that_fails_leaves_what_was_there(
    connection: asyncpg.Connection, package: Package
) -> None:
    await package.schema.migrate(connection)
    broken = RANK_BY_ONE.replace("RETURN 1", "RETURN 2") + "SELECT 1/0;"
    package.write("repeatable/rank.sql", broken)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await package.schema.migrate(connection)
    assert await rank(connection) == 1


async def test_a_changed_repeatable_file_is_pending_where_migrating_is_switched_off(
    connection: asyncpg.Connection, package: Package
) -> None:
    await package.schema.migrate(connection)
    await package.schema.check(connection)
    package.write("repeatable/rank.sql", RANK_BY_ONE.replace("RETURN 1", "RETURN 2"))
    with pytest.raises(MigrationPending, match="repeatable/rank"):
        await package.schema.check(connection)


async def test_processes_that_start_together_apply_a_repeatable_file_once(
    database: str, package: Package
) -> None:
    connections = [await asyncpg.connect(database) for _ in range(4)]
    applied = await asyncio.gather(*(package.schema.migrate(it) for it in connections))
    assert sorted(map(len, applied)) == [0, 0, 0, 2]
    for connection in connections:
        await connection.close()


def test_a_lock_belongs_to_one_schema_and_one_purpose() -> None:
    purposes = [Schema(name, package="x").lock(why) for name in "ab" for why in ("mop", "index")]
    assert len(set(purposes)) == 4
    assert Schema("a", package="x").lock("mop") == Schema("a", package="y").lock("mop")


async def test_an_older_release_serves_a_newer_schema_that_says_it_may(
    connection: asyncpg.Connection, package: Package
) -> None:
    older = package.schema
    await older.migrate(connection)
    package.write("0002_more.sql", "-- serves: 0001\nALTER TABLE notes ADD COLUMN text text;")
    package.write("repeatable/rank.sql", RANK_BY_ONE.replace("RETURN 1", "RETURN 2"))
    await package.schema.migrate(connection)
    assert await older.migrate(connection) == []
    await older.check(connection)
    assert await rank(connection) == 2, "an older release must not take back what a newer one made"


async def test_an_older_release_refuses_a_newer_schema_that_does_not(
    connection: asyncpg.Connection, package: Package
) -> None:
    older = package.schema
    await older.migrate(connection)
    package.write("0002_more.sql", "-- serves: 0001\nALTER TABLE notes ADD COLUMN text text;")
    package.write("0003_other.sql", "ALTER TABLE notes RENAME TO memos;")
    await package.schema.migrate(connection)
    with pytest.raises(DatabaseNewer, match="0003"):
        await older.migrate(connection)
    with pytest.raises(DatabaseNewer, match="0003"):
        await older.check(connection)


async def test_a_schema_from_before_releases_were_recorded_is_migrated(
    connection: asyncpg.Connection, package: Package
) -> None:
    await package.schema.migrate(connection)
    await connection.execute("ALTER TABLE notes.migrations DROP COLUMN serves_from")
    await package.schema.check(connection)
    package.write("0002_more.sql", "ALTER TABLE notes ADD COLUMN text text;")
    assert [it.name for it in await package.schema.migrate(connection)] == ["more"]
