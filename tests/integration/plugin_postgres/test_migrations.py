"""Migrations: applied once, under a lock, recorded, checked; existing tables are adopted."""

import asyncio
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from plugin_postgres.schema import SCHEMA, serves_vectors
from plugin_postgres.settings import Settings
from postgres.errors import (
    DatabaseNewer,
    MigrationChanged,
    MigrationFailed,
    MigrationPending,
)
from postgres.provide import prepare
from postgres.schema import Migration
from serving.errors import BadSetting
from tests import timeouts

pytestmark = pytest.mark.anyio


async def test_a_second_run_applies_nothing(database: str) -> None:
    connection = await asyncpg.connect(database)
    assert await SCHEMA.migrate(connection) == [*SCHEMA.migrations, *SCHEMA.repeatables]
    assert await SCHEMA.migrate(connection) == []
    await SCHEMA.check(connection)
    await connection.close()


async def test_everything_lives_in_one_schema(migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    elsewhere = await connection.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        " UNION ALL SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace"
    )
    assert elsewhere == []
    await connection.close()


async def test_pgvector_that_appears_later_is_used_from_the_next_start_on(database: str) -> None:
    admin = await asyncpg.connect(database)
    name = await admin.fetchval("SELECT current_database()")
    await admin.execute("CREATE ROLE without_rights LOGIN")
    await admin.execute(f'GRANT CREATE ON DATABASE "{name}" TO without_rights')
    url = database.replace("postgres@", "without_rights@", 1)
    try:
        connection = await asyncpg.connect(url)
        applied = await SCHEMA.migrate(connection)
        assert applied == [
            *(migration for migration in SCHEMA.migrations if migration.needs is None),
            *SCHEMA.repeatables,
        ]
        assert not await serves_vectors(connection)
        await SCHEMA.check(connection)
        await admin.execute("CREATE EXTENSION vector")
        assert await SCHEMA.migrate(connection) == [
            migration for migration in SCHEMA.migrations if migration.needs == "vector"
        ]
        assert await serves_vectors(connection)
        await connection.close()
    finally:
        await admin.execute("DROP OWNED BY without_rights CASCADE")
        await admin.execute("DROP ROLE without_rights")
        await admin.close()


async def test_a_role_that_may_not_migrate_is_reported_to_the_operator(database: str) -> None:
    admin = await asyncpg.connect(database)
    await admin.execute("CREATE ROLE only_reads LOGIN")
    try:
        url = database.replace("postgres@", "only_reads@", 1)
        with pytest.raises(MigrationFailed, match="lacks a privilege"):
            await prepare(Settings(database_url=url, **timeouts.LIMITS), SCHEMA, command="x")
    finally:
        await admin.execute("DROP ROLE only_reads")
        await admin.close()


async def test_a_database_in_another_encoding_is_refused_before_it_is_touched(
    database: str,
) -> None:
    admin = await asyncpg.connect(database)
    await admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    latin = urlunsplit(urlsplit(database)._replace(path="/latin"))
    try:
        with pytest.raises(BadSetting, match="LATIN1"):
            await prepare(Settings(database_url=latin, **timeouts.LIMITS), SCHEMA, command="x")
        connection = await asyncpg.connect(latin)
        assert await connection.fetchval("SELECT to_regnamespace('memory_plugin')") is None
        await connection.close()
    finally:
        await admin.execute("DROP DATABASE latin")
        await admin.close()


async def test_a_url_of_another_client_of_postgresql_works(database: str) -> None:
    url = f"{database}&sslmode=disable&connect_timeout=10&pool_max_conns=4&search_path=public"
    await prepare(Settings(database_url=url, **timeouts.LIMITS), SCHEMA, command="x")


async def test_a_parameter_that_the_server_refuses_is_reported_at_once(database: str) -> None:
    for parameter in ("no_such=1", "statement_timeout=soon"):
        settings = Settings(database_url=f"{database}&{parameter}", startup_timeout=3600)
        with pytest.raises(BadSetting, match="parameter after the"):
            await prepare(settings, SCHEMA, command="x")


async def test_processes_that_start_together_do_not_collide(database: str) -> None:
    connections = [await asyncpg.connect(database) for _ in range(4)]
    applied = await asyncio.gather(*(SCHEMA.migrate(connection) for connection in connections))
    assert sorted(map(len, applied)) == [0, 0, 0, len(SCHEMA.migrations) + len(SCHEMA.repeatables)]
    for connection in connections:
        await connection.close()


async def test_a_database_of_a_later_release_is_refused(migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    await connection.execute(
        "INSERT INTO memory_plugin.plugin_migrations VALUES (9999, 'future', 'x')"
    )
    with pytest.raises(DatabaseNewer, match="9999"):
        await SCHEMA.migrate(connection)
    with pytest.raises(DatabaseNewer, match="9999"):
        await SCHEMA.check(connection)
    await connection.close()


async def test_an_edited_migration_is_refused(migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    await connection.execute(
        "UPDATE memory_plugin.plugin_migrations SET checksum = 'x' WHERE version = 1"
    )
    with pytest.raises(MigrationChanged, match="0001_tables"):
        await SCHEMA.migrate(connection)
    await connection.close()


async def test_serving_without_migrating_needs_a_migrated_database(database: str) -> None:
    connection = await asyncpg.connect(database)
    with pytest.raises(MigrationPending, match="0001_tables"):
        await SCHEMA.check(connection)
    await connection.close()


async def test_a_migration_that_fails_leaves_nothing_behind(database: str) -> None:
    connection = await asyncpg.connect(database)
    broken = Migration("broken", "CREATE TABLE left_behind (); SELECT 1/0", 1)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await SCHEMA.migrate(connection, (broken,))
    assert await connection.fetchval("SELECT to_regclass('left_behind')") is None
    assert await SCHEMA.migrate(connection) == [*SCHEMA.migrations, *SCHEMA.repeatables]
    await connection.close()
