"""Embeddings: how fast the index is compared to a scan, and its recall."""

import asyncio
import json
import time
from collections.abc import Iterator
from functools import partial
from statistics import fmean

import httpx

from bench.load import post, send
from bench.measure import Measure, Sample
from bench.stage import Stage, connection, execute
from plugin_postgres import vectors

_LIMIT = 10
_QUERIES = 50

# Like real embeddings: topics, variations of them, and a little noise. Independent random numbers
# have no neighbourhoods, so no index of this kind works on them.
_PARTS = """
CREATE UNLOGGED TABLE part AS
SELECT
    kind, n,
    (
        SELECT array_agg(random_normal(0, scale) + 0 * axis * n)::real[]::vector
        FROM generate_series(1, {dimension}) AS axis
    ) AS vector
FROM (
    VALUES ('topic', 400, 1.0), ('turn', 2000, 0.5), ('noise', 4000, 0.3)
) AS kinds (kind, size, scale)
CROSS JOIN generate_series(0, size - 1) AS n
"""
_SUMS = """
SELECT topic.vector + turn.vector + noise.vector AS embedding, made.n
FROM (
    SELECT
        n, floor(random() * 400) AS a, floor(random() * 2000) AS b, floor(random() * 4000) AS c
    FROM generate_series(1, {count}) AS n
) AS made
JOIN part AS topic ON topic.kind = 'topic' AND topic.n = made.a
JOIN part AS turn ON turn.kind = 'turn' AND turn.n = made.b
JOIN part AS noise ON noise.kind = 'noise' AND noise.n = made.c
"""
_MEMORIES = """
INSERT INTO memory_records (namespace, content, kind, source, embedding)
SELECT 'workspace:' || summed.n % {namespaces}, 'memory ' || summed.n, 'fact', 'agent', embedding
FROM ({sums}) AS summed
"""
_EXACT = """
SELECT content FROM {table} WHERE namespace = ANY($1)
ORDER BY embedding <=> $2::vector LIMIT $3
"""
# The obvious first version: no index, and embeddings in PostgreSQL's default storage.
_PLAIN = """
CREATE TABLE plain_records AS
SELECT id, namespace, content, kind, source, created_at, embedding::vector FROM memory_records
"""


def fill(url: str, *, rows: int, dimension: int, namespaces: int) -> list[list[float]]:
    """Insert memories with embeddings, index them as the plugin would, and return queries."""

    async def run() -> list[list[float]]:
        async with connection(url) as opened:
            await opened.execute(
                "INSERT INTO memory_namespaces (name, kind)"
                " SELECT 'workspace:' || n, 'workspace' FROM generate_series(0, $1 - 1) AS n",
                namespaces,
            )
            await opened.execute(_PARTS.format(dimension=dimension))
            sums = _SUMS.format(count=rows)
            await opened.execute(_MEMORIES.format(namespaces=namespaces, sums=sums))
            await opened.execute("SET maintenance_work_mem = '512MB'")
            await vectors.build_indexes(opened)
            asked = await opened.fetch(_SUMS.format(count=_QUERIES))
            # As many digits as embedding providers send.
            return [[round(number, 8) for number in row["embedding"]] for row in asked]

    queries = asyncio.run(run())
    asyncio.run(execute(url, "DROP TABLE part", "VACUUM ANALYZE memory_records", "CHECKPOINT"))
    return queries


def speed(stage: Stage) -> Iterator[Measure]:
    rows, dimension = stage.scale(10_000), 1536
    with stage.database("embedding_speed") as url:
        queries = fill(url, rows=rows, dimension=dimension, namespaces=1)
        asyncio.run(execute(url, _PLAIN, "VACUUM ANALYZE plain_records", "CHECKPOINT"))
        asked = [
            post("/v1/search", {"namespaces": ["workspace:0"], "embedding": query, "limit": _LIMIT})
            for query in queries
        ]

        def through() -> Sample:
            sample = send(plugin, asked, connections=1, seconds=stage.seconds)
            return Sample(sample.details["p50"], sample.details)

        with stage.plugin(url) as plugin:
            yield Measure(
                name="embedding",
                title=f"embedding, {rows:,} × {dimension} in one namespace, p50",
                unit="ms",
                contestants={
                    "plugin": through,
                    "exact scan": partial(_scan, url, "plain_records", queries, stage.seconds),
                    "exact scan of our table": partial(
                        _scan, url, "memory_records", queries, stage.seconds
                    ),
                },
                better="lower",
                note="a scan of our table is faster too, because it stores embeddings in the row",
                must=10,
                aim=30,
            )


def recall(stage: Stage) -> Iterator[Measure]:
    rows, dimension, spaces = stage.scale(100_000), 384, 50
    with stage.database("embedding_recall") as url:
        queries = fill(url, rows=rows, dimension=dimension, namespaces=spaces)
        with stage.plugin(url) as plugin:
            for count in (1, 10, spaces):
                names = [f"workspace:{n}" for n in range(count)]
                yield Measure(
                    name=f"recall {count}/{spaces}",
                    title=f"recall@{_LIMIT}, {rows:,} × {dimension} in {count} of {spaces}",
                    unit="recall",
                    contestants={"plugin": partial(_recall, url, plugin, names, queries)},
                    must=0.95,
                    aim=0.99,
                )


def _scan(url: str, table: str, queries: list[list[float]], seconds: float) -> Sample:
    """The same query without any index."""
    return asyncio.run(_compare_all(url, table, queries, seconds))


async def _compare_all(url: str, table: str, queries: list[list[float]], seconds: float) -> Sample:
    times: list[float] = []
    until = time.perf_counter() + seconds
    async with connection(url) as opened:
        await opened.execute("SET enable_indexscan = off; SET max_parallel_workers_per_gather = 0")
        while time.perf_counter() < until or len(times) < 3:
            began = time.perf_counter()
            query = queries[len(times) % len(queries)]
            await opened.fetch(_EXACT.format(table=table), ["workspace:0"], query, _LIMIT)
            times.append((time.perf_counter() - began) * 1000)
    return Sample(sorted(times)[len(times) // 2])


def _recall(url: str, plugin: str, namespaces: list[str], queries: list[list[float]]) -> Sample:
    return asyncio.run(_compare(url, plugin, namespaces, queries))


async def _compare(
    url: str, plugin: str, namespaces: list[str], queries: list[list[float]]
) -> Sample:
    found: list[float] = []
    took: list[float] = []
    exactly = _EXACT.format(table="memory_records")
    async with connection(url) as opened, httpx.AsyncClient(base_url=plugin, timeout=60) as client:
        await opened.execute("SET enable_indexscan = off")
        for query in queries:
            exact = await opened.fetch(exactly, namespaces, query, _LIMIT)
            body = {"namespaces": namespaces, "embedding": query, "limit": _LIMIT}
            began = time.perf_counter()
            answer = await client.post("/v1/search", content=json.dumps(body))
            took.append((time.perf_counter() - began) * 1000)
            contents = {memory["content"] for memory in answer.json()["memories"]}
            found.append(len(contents & {row["content"] for row in exact}) / len(exact))
    return Sample(fmean(found), {"p50": sorted(took)[len(took) // 2]})
