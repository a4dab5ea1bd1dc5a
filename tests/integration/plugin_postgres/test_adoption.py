"""The tables of the existing Go plugin are adopted in place, with their rows."""

import re
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from contract import MemoryClient, MemoryWrite, NamespaceUpsert, SearchRequest
from plugin_postgres import pgvector
from plugin_postgres.database import Database
from plugin_postgres.janitor import Janitor
from plugin_postgres.metrics import Metrics
from plugin_postgres.schema import SCHEMA
from plugin_postgres.settings import Settings
from postgres.errors import MigrationRefused
from tests import timeouts
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

GO_TABLES = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA memory_plugin;
CREATE TABLE memory_plugin.memory_namespaces (
    name        TEXT PRIMARY KEY,
    kind        TEXT NOT NULL CHECK (kind IN ('workspace','team','org','custom')),
    expires_at  TIMESTAMPTZ,
    metadata    JSONB,
    created_at  TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE memory_plugin.memory_records (
    id           UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    namespace    TEXT NOT NULL
        REFERENCES memory_plugin.memory_namespaces(name) ON DELETE CASCADE,
    content      TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('fact','summary','checkpoint')),
    source       TEXT NOT NULL CHECK (source IN ('agent','runtime','user')),
    expires_at   TIMESTAMPTZ,
    propagation  JSONB,
    pin          BOOLEAN NOT NULL DEFAULT false,
    embedding    vector(1536),
    content_tsv  tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED,
    created_at   TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX memory_records_content_tsv_idx
    ON memory_plugin.memory_records USING GIN (content_tsv);
CREATE INDEX idx_memory_records_embedding
    ON memory_plugin.memory_records USING ivfflat (embedding vector_cosine_ops) WITH (lists = 1);
CREATE INDEX idx_memory_records_namespace ON memory_plugin.memory_records (namespace);
CREATE INDEX idx_memory_records_expires
    ON memory_plugin.memory_records (expires_at) WHERE expires_at IS NOT NULL;
"""
GO_ROWS = """
INSERT INTO memory_plugin.memory_namespaces (name, kind, metadata, created_at) VALUES
    ('workspace:go', 'workspace', 'null', '2024-05-06T07:08:09Z'),
    ('team:go', 'team', '{"a": 1}', '2024-05-06T07:08:09Z');
INSERT INTO memory_plugin.memory_records
    (id, namespace, content, kind, source, propagation, pin, embedding, created_at)
SELECT
    ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
    'workspace:go', 'running migration number ' || n, 'fact', 'agent',
    CASE n % 3 WHEN 0 THEN NULL WHEN 1 THEN 'null'::jsonb ELSE '{"to": [2]}' END,
    n = 2,
    CASE WHEN n < 3 THEN array_fill(n::real, ARRAY[1536])::vector END,
    '2024-01-01T00:00:00Z'::timestamptz + n * interval '1 day'
FROM generate_series(1, 5) AS n;
"""


async def adopt(database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute(GO_TABLES)
    await connection.execute(GO_ROWS)
    await SCHEMA.migrate(connection)
    await connection.close()


async def catalogue(url: str) -> dict[str, Any]:
    """What there is in our schema, apart from the order of columns."""
    connection = await asyncpg.connect(url)
    await connection.execute(f"SET search_path = {await pgvector.search_path(connection)}")
    try:
        return {
            "columns": await connection.fetch(
                "SELECT table_name, column_name, is_nullable, data_type, udt_name, is_generated,"
                " generation_expression, column_default FROM information_schema.columns"
                " WHERE table_schema = 'memory_plugin' ORDER BY 1, 2"
            ),
            "types": await connection.fetch(
                "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod),"
                " attstorage FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped"
                " AND attrelid IN (SELECT oid FROM pg_class WHERE relkind = 'r'"
                " AND relnamespace = 'memory_plugin'::regnamespace) ORDER BY 1, 2"
            ),
            "indexes": await connection.fetch(
                "SELECT indexdef FROM pg_indexes WHERE schemaname = 'memory_plugin' ORDER BY 1"
            ),
            "constraints": await connection.fetch(
                "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
                " WHERE connamespace = 'memory_plugin'::regnamespace ORDER BY 1, 2"
            ),
            "functions": await connection.fetch(
                "SELECT oid::regprocedure::text, prosrc FROM pg_proc"
                " WHERE pronamespace = 'memory_plugin'::regnamespace"
                " AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid"
                " AND deptype = 'e') ORDER BY 1"
            ),
            "migrations": await connection.fetch(
                "SELECT version, name, checksum FROM memory_plugin.plugin_migrations ORDER BY 1"
            ),
        }
    finally:
        await connection.close()


async def test_adopted_rows_are_served_as_they_are(database: str) -> None:
    await adopt(database)
    async with plugin.memory_client(database) as client:
        listed = [memory async for memory in client.list_memories(["workspace:go"])]
        assert [getattr(memory, "content", "") for memory in listed] == [
            f"running migration number {n}" for n in range(1, 6)
        ]
        assert [getattr(memory, "propagation", "") for memory in listed] == [
            None,
            {"to": [2]},
            None,
            None,
            {"to": [2]},
        ]
        kept = await client.put_namespace("workspace:go", NamespaceUpsert(kind="workspace"))
        assert (kept.metadata, kept.created_at.year) == (None, 2024)
        newest = await client.search(SearchRequest(namespaces=["workspace:go"]))
        assert [memory.content[-1] for memory in newest.memories] == ["2", "5", "4", "3", "1"]


async def test_adopted_rows_are_found_by_words_and_by_vectors(database: str) -> None:
    await adopt(database)
    async with plugin.memory_client(database) as client:
        assert await found(client, query="migrations run") == 5
        assert await found(client, embedding=[1.0] * 1536) == 2


async def found(client: MemoryClient, **fields: Any) -> int:
    answer = await client.search(SearchRequest(namespaces=["workspace:go"], **fields))
    return len(answer.memories)


async def test_an_adopted_row_can_be_replaced_and_one_of_another_dimension_added(
    database: str,
) -> None:
    await adopt(database)
    async with plugin.memory_client(database) as client:
        key = UUID("00000000-0000-4000-8000-000000000001")
        body = MemoryWrite(content="new", kind="fact", source="user", id=key, embedding=[1.0, 2.0])
        await client.write("workspace:go", body)
        assert await found(client, embedding=[1.0, 2.0]) == 1
        assert await found(client, embedding=[1.0] * 1536) == 1


async def test_an_adopted_database_equals_a_fresh_one(database: str, migrated: str) -> None:
    await adopt(database)
    ours, theirs = await catalogue(migrated), await catalogue(database)
    for part, expected in ours.items():
        # But for one type: the old plugin could not start on embeddings in half precision.
        same = str(expected).replace("halfvec", "vector")
        assert str(theirs[part]).replace("halfvec", "vector") == same, part
    types = {row["attname"]: row["format_type"] for row in theirs["types"]}
    assert types["embedding"] == "vector"
    types = {row["attname"]: row["format_type"] for row in ours["types"]}
    assert types["embedding"] == "halfvec"


async def test_a_database_migrated_step_by_step_equals_a_fresh_one(
    database: str, migrated: str
) -> None:
    for count in range(1, len(SCHEMA.migrations) + 1):
        connection = await asyncpg.connect(database)
        # The repeatable files are those of the last migration.
        repeatables = SCHEMA.repeatables if count == len(SCHEMA.migrations) else ()
        await SCHEMA.migrate(connection, SCHEMA.migrations[:count], repeatables)
        await connection.close()
    assert await catalogue(database) == await catalogue(migrated)


# What the old plugin runs whenever it starts: everything that is not there, and nothing else.
GO_START = re.sub(r"CREATE (TABLE|INDEX) ", r"CREATE \1 IF NOT EXISTS ", GO_TABLES).replace(
    "CREATE SCHEMA ", "CREATE SCHEMA IF NOT EXISTS "
)


async def elsewhere(database: str, *schemas: str) -> None:
    """The tables of the old plugin, with rows, in other schemas than ours."""
    connection = await asyncpg.connect(database)
    await connection.execute("SET search_path = public, memory_plugin")
    for schema in schemas:
        text = GO_TABLES.replace("CREATE SCHEMA memory_plugin;", "")
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        await connection.execute((text + GO_ROWS).replace("memory_plugin.", f"{schema}."))
    await connection.close()


@pytest.mark.parametrize("schema", ["public", '"Other Schema"'])
async def test_tables_in_another_schema_are_moved_and_served(database: str, schema: str) -> None:
    await elsewhere(database, schema)
    connection = await asyncpg.connect(database)
    await SCHEMA.migrate(connection)
    await connection.close()
    async with plugin.memory_client(database) as client:
        assert await found(client, query="migrations run") == 5


async def test_tables_in_several_schemas_are_refused_and_nothing_is_touched(database: str) -> None:
    await elsewhere(database, "public", "other")
    connection = await asyncpg.connect(database)
    with pytest.raises(MigrationRefused, match="SET SCHEMA memory_plugin"):
        await SCHEMA.migrate(connection)
    assert await connection.fetchval("SELECT to_regnamespace('memory_plugin')") is None
    assert await connection.fetchval("SELECT count(*) FROM other.memory_records") == 5
    await connection.close()


async def test_tables_of_another_role_are_refused_and_nothing_is_touched(database: str) -> None:
    await elsewhere(database, "public")
    connection = await asyncpg.connect(database)
    await connection.execute("CREATE ROLE adopter")
    try:
        await connection.execute(
            "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO adopter',"
            " current_database()); END $$"
        )
        await connection.execute("SET ROLE adopter")
        with pytest.raises(MigrationRefused, match="belong to another role"):
            await SCHEMA.migrate(connection)
        await connection.execute("RESET ROLE")
        assert await connection.fetchval("SELECT to_regnamespace('memory_plugin')") is None
        assert await connection.fetchval("SELECT count(*) FROM public.memory_records") == 5
    finally:
        await connection.execute("RESET ROLE; DROP OWNED BY adopter; DROP ROLE adopter")
        await connection.close()


async def test_tables_that_come_later_are_named_in_the_log(
    migrated: str, caplog: pytest.LogCaptureFixture
) -> None:
    await elsewhere(migrated, "public")
    connection = await asyncpg.connect(migrated)
    await SCHEMA.migrate(connection)
    assert await connection.fetchval("SELECT count(*) FROM public.memory_records") == 5
    await connection.close()
    assert "are not used" in caplog.text


async def test_tables_of_another_program_are_left_alone(database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("CREATE TABLE public.memory_records (id integer, body text)")
    await connection.execute("CREATE TABLE public.memory_namespaces (name text)")
    await SCHEMA.migrate(connection)
    assert await connection.fetchval("SELECT count(*) FROM public.memory_records") == 0
    assert await connection.fetchval("SELECT count(*) FROM memory_plugin.memory_records") == 0
    await connection.close()


async def test_what_had_expired_before_adoption_keeps_its_grace_period(database: str) -> None:
    await adopt(database)
    connection = await asyncpg.connect(database)
    await connection.execute(
        "UPDATE memory_plugin.memory_namespaces SET expires_at = '2020-01-01Z'"
        " WHERE name = 'workspace:go'"
    )
    settings = Settings(database_url=database, janitor_grace=3600, **timeouts.LIMITS)
    store = Database(settings)
    await store.open()
    janitor = Janitor(store, Metrics(), settings)
    assert await janitor.clean()
    assert await connection.fetchval("SELECT count(*) FROM memory_plugin.memory_records") == 5
    await connection.execute(
        "UPDATE memory_plugin.plugin_adoption SET adopted_at = now() - interval '2 hours'"
    )
    assert await janitor.clean()
    assert await connection.fetchval("SELECT count(*) FROM memory_plugin.memory_records") == 0
    await store.close()
    await connection.close()


async def test_after_a_rollback_the_grace_period_begins_anew(database: str) -> None:
    await adopt(database)
    connection = await asyncpg.connect(database)
    await connection.execute(
        "UPDATE memory_plugin.plugin_adoption SET adopted_at = now() - interval '1 year'"
    )
    before = await indexes(connection)
    await connection.execute("SET search_path = memory_plugin, public")
    await connection.execute(GO_START)
    await connection.execute(
        "UPDATE memory_plugin.memory_namespaces SET expires_at = now() - interval '1 month'"
    )
    assert len(await indexes(connection)) == len(before) + 3
    for _ in range(2):
        await SCHEMA.migrate(connection)
        assert await indexes(connection) == before
        count = await connection.fetchval("SELECT count(*) FROM memory_plugin.plugin_adoption")
        assert count == 2
    settings = Settings(database_url=database, janitor_grace=3600, **timeouts.LIMITS)
    store = Database(settings)
    await store.open()
    assert await Janitor(store, Metrics(), settings).clean()
    assert await connection.fetchval("SELECT count(*) FROM memory_plugin.memory_records") == 5
    await store.close()
    await connection.close()


async def indexes(connection: asyncpg.Connection) -> list[str]:
    rows = await connection.fetch(
        "SELECT indexname FROM pg_indexes WHERE schemaname = 'memory_plugin' ORDER BY 1"
    )
    return [row["indexname"] for row in rows]


async def test_the_old_plugin_starts_writes_and_searches_after_adoption(database: str) -> None:
    await adopt(database)
    async with plugin.memory_client(database) as client:
        body = MemoryWrite(content="written by us", kind="fact", source="user")
        await client.write("workspace:go", body)
    old = await asyncpg.connect(database)
    await old.execute("SET search_path = memory_plugin, public")
    await old.execute(GO_START)
    vector = str([1.0] * 1536)
    await old.execute(
        "INSERT INTO memory_records (id, namespace, content, kind, source, pin, embedding)"
        " VALUES (gen_random_uuid(), 'workspace:go', 'rolled back runners', 'fact', 'agent', false,"
        f" '{vector}'::vector) ON CONFLICT (id) DO UPDATE SET content = excluded.content"
    )
    words = await old.fetch(
        "SELECT content FROM memory_records WHERE namespace = 'workspace:go'"
        " AND content_tsv @@ plainto_tsquery('english', 'runner') "
    )
    assert [row["content"] for row in words] == ["rolled back runners"]
    near = await old.fetch(
        "SELECT content FROM memory_records WHERE embedding IS NOT NULL"
        f" ORDER BY embedding <=> '{vector}'::vector LIMIT 3"
    )
    assert "rolled back runners" in {row["content"] for row in near}
    await old.close()
    # And ours serves again what the old plugin wrote meanwhile.
    connection = await asyncpg.connect(database)
    await SCHEMA.migrate(connection)
    await connection.close()
    async with plugin.memory_client(database) as client:
        assert await found(client, query="rolled back") >= 1
