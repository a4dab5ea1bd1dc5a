"""The tables of the existing Go plugin are taken over in place, with the rows in them."""

from typing import Any
from uuid import UUID

import asyncpg
import pytest

from contract import MemoryClient, MemoryWrite, NamespaceUpsert, SearchRequest
from plugin_postgres import pgvector
from plugin_postgres.schema import SCHEMA
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
CREATE INDEX memory_records_embedding_idx
    ON memory_plugin.memory_records USING ivfflat (embedding vector_cosine_ops) WITH (lists = 1);
CREATE INDEX memory_records_namespace_idx ON memory_plugin.memory_records (namespace);
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
    extra = {"memory_records_namespace_idx"}
    theirs["indexes"] = [
        row for row in theirs["indexes"] if not any(name in row["indexdef"] for name in extra)
    ]
    for part, expected in ours.items():
        assert theirs[part] == expected, part


async def test_a_database_migrated_step_by_step_equals_a_fresh_one(
    database: str, migrated: str
) -> None:
    for count in range(1, len(SCHEMA.migrations) + 1):
        connection = await asyncpg.connect(database)
        await SCHEMA.migrate(connection, SCHEMA.migrations[:count])
        await connection.close()
    assert await catalogue(database) == await catalogue(migrated)
