"""The obvious first version: an English tsvector with a GIN index."""

import asyncio
from collections.abc import Mapping

from bench.stage import connection, execute

TABLE = """
CREATE TABLE plain_records (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    namespace text NOT NULL,
    content text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED
)
"""
_INDEXES = (
    "CREATE INDEX ON plain_records USING gin (tsv)",
    "CREATE INDEX ON plain_records (namespace)",
)
_COPY = """
INSERT INTO plain_records (namespace, content, created_at)
SELECT namespace, content, created_at FROM memory_records
"""
# $1 are the namespaces, $2 the limit, $3 the query.
SEARCH = """
SELECT id, namespace, content, created_at, ts_rank(tsv, plainto_tsquery('english', $3)) AS score
FROM memory_plugin.plain_records
WHERE namespace = ANY($1) AND tsv @@ plainto_tsquery('english', $3)
ORDER BY score DESC, created_at DESC
LIMIT $2
"""


def copy_memories(url: str) -> None:
    """A plain table with the memories of the database."""
    asyncio.run(execute(url, TABLE, *_INDEXES, _COPY, "VACUUM ANALYZE plain_records", "CHECKPOINT"))


def make_empty(url: str) -> None:
    """A plain table, with the indexes that a write pays for."""
    asyncio.run(execute(url, TABLE, *_INDEXES))


def keep_texts(url: str, texts: Mapping[int, list[str]]) -> None:
    """A table of texts by number of words, from which pgbench inserts."""

    async def run() -> None:
        async with connection(url) as opened:
            await opened.execute(
                "CREATE TABLE text (words integer, number integer, content text,"
                " PRIMARY KEY (words, number))"
            )
            for words, contents in texts.items():
                await opened.executemany(
                    "INSERT INTO text VALUES ($1, $2, $3)",
                    [(words, number, content) for number, content in enumerate(contents)],
                )

    asyncio.run(run())
    asyncio.run(execute(url, "VACUUM ANALYZE text"))
