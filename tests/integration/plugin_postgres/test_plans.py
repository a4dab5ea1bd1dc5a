"""On a table that is large enough, every kind of search goes by the index that is meant for it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from contract import SearchRequest
from plugin_postgres import sql, vectors
from plugin_postgres.commonness import Commonness
from plugin_postgres.lexicon import Lexicon
from plugin_postgres.search import find_rows
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

NOW = datetime.now(UTC)
# Shapes of the benchmark in small: 40 namespaces, a common word in every eighth memory, one
# rare word, 2,000 embeddings in the first namespace and 250 in the second. In one more namespace,
# each of 25 words is in 80 memories, and as often in a sample of the newest, which decides how to
# search.
ROWS = f"""
INSERT INTO memory_namespaces (name, kind)
SELECT 'workspace:' || n, 'workspace' FROM generate_series(0, 39) AS n;

INSERT INTO memory_records (namespace, content, kind, source, created_at, propagation, embedding)
SELECT
    'workspace:' || CASE WHEN n <= 2000 THEN 0 ELSE n % 40 END,
    'memory ' || n || CASE WHEN n / 40 % 8 = 0 THEN ' common' ELSE '' END
    || CASE WHEN n % 7 = 0 THEN ' seventh' ELSE '' END,
    CASE WHEN n % 1000 = 0 THEN 'summary' ELSE 'fact' END,
    'agent',
    timestamptz '{NOW.isoformat()}' - n * interval '1 minute',
    jsonb_build_object('turn', n / 40),
    CASE WHEN n <= 2000 OR n % 40 = 1 THEN
        ('[' || n % 7 || ',' || n % 11 || ',' || n % 13 || ',1]')::vector
    END
FROM generate_series(1, 12000) AS n;

INSERT INTO memory_namespaces (name, kind) VALUES ('team:shelves', 'team');

INSERT INTO memory_records (namespace, content, kind, source, created_at)
SELECT
    'team:shelves', 'book ' || n || ' is on shelf s' || n % 25, 'fact', 'agent',
    timestamptz '{NOW.isoformat()}' - n * interval '1 minute'
FROM generate_series(1, 2000) AS n;

ANALYZE memory_records;
"""
NEW_ROWS = """
INSERT INTO memory_namespaces (name, kind) VALUES ('team:a', 'team'), ('team:b', 'team');

INSERT INTO memory_records (namespace, content, kind, source)
SELECT 'team:a', 'a memory', 'fact', 'agent' FROM generate_series(1, 100);

ALTER TABLE memory_records SET (autovacuum_enabled = off);
ANALYZE memory_records;

INSERT INTO memory_records (namespace, content, kind, source, embedding)
SELECT 'team:a', 'a memory', 'fact', 'agent', '[1,2,3,4]' FROM generate_series(1, 1000);
"""
READ = """
SELECT
    relname AS name,
    pg_stat_get_xact_numscans(oid) AS scans,
    pg_stat_get_xact_tuples_returned(oid) AS entries
FROM pg_class
WHERE relname LIKE 'memory_records%' AND relkind IN ('r', 'i')
"""
THREE = ["workspace:1", "workspace:2", "workspace:3"]


@pytest.fixture(scope="module")
def filled(cluster: str, migrated_template: str) -> Iterator[str]:
    with plugin.filled_database(cluster, migrated_template, ROWS) as url:
        yield url


@pytest.fixture(scope="module")
def outdated(cluster: str, migrated_template: str) -> Iterator[str]:
    """A database whose statistics do not know any embedding."""
    with plugin.filled_database(cluster, migrated_template, NEW_ROWS) as url:
        yield url


async def statements(
    connection: asyncpg.Connection, request: SearchRequest
) -> list[tuple[str, tuple[object, ...]]]:
    """The statements that answer a request, with their arguments."""
    asked: list[tuple[str, tuple[object, ...]]] = []

    async def fetch(statement: str, *arguments: object) -> list[asyncpg.Record]:
        asked.append((statement, arguments))
        return await connection.fetch(statement, *arguments)

    await find_rows(fetch, Lexicon(), Commonness(), request, request.query, request.embedding)
    return asked


async def plan(url: str, request: SearchRequest) -> list[dict[str, Any]]:
    """Of the last statement that answers a request."""
    async with plugin.pool_connection(url) as connection:
        asked = await statements(connection, request)
        statement, arguments = asked[-1]
        parameters = (await connection.prepare(statement)).get_parameters()
    kinds = [parameter.name for parameter in parameters]
    return await explain(url, statement, list(zip(kinds, arguments, strict=True)))


async def reads(url: str, request: SearchRequest) -> dict[str, int]:
    """How many entries of each index of memories a search read, statements inside functions too.

    The table itself is never read from its beginning to its end.
    """
    async with plugin.pool_connection(url) as connection, connection.transaction():
        before = {row["name"]: row for row in await connection.fetch(READ)}
        await find_rows(
            connection.fetch, Lexicon(), Commonness(), request, request.query, request.embedding
        )
        after = {row["name"]: row for row in await connection.fetch(READ)}
    assert after["memory_records"]["scans"] == before["memory_records"]["scans"]
    return {
        name: row["entries"] - before[name]["entries"]
        for name, row in after.items()
        if name != "memory_records" and row["scans"] > before[name]["scans"]
    }


async def explain(
    url: str, statement: str, arguments: list[tuple[str, object]]
) -> list[dict[str, Any]]:
    """The nodes of the plan that were executed, with the one plan that the plugin keeps.

    An argument is its type and its value.
    """
    async with plugin.pool_connection(url) as connection:
        types = ", ".join(kind for kind, _ in arguments)
        await connection.execute(f"PREPARE asked ({types}) AS {statement}")
        literals: list[str] = [
            await connection.fetchval(f"SELECT quote_nullable($1::{kind}::text)", value)
            for kind, value in arguments
        ]
        explained = await connection.fetchval(
            f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked ({', '.join(literals)})"
        )
        await connection.execute("DEALLOCATE asked")
    return [node for node in _nodes(json.loads(explained)[0]["Plan"]) if node["Actual Loops"]]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


def indexes(nodes: list[dict[str, Any]]) -> set[str]:
    """The indexes of memories that were read; none of them is looked at row by row."""
    assert not [
        node
        for node in nodes
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] == "memory_records"
    ]
    return {
        node["Index Name"]
        for node in nodes
        if node.get("Index Name", "").startswith("memory_records")
    }


def rows_read(nodes: list[dict[str, Any]]) -> float:
    """How many rows of the table the whole statement looked at."""
    rows: list[float] = [
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in nodes
        if node.get("Relation Name") == "memory_records"
    ]
    return sum(rows)


@pytest.mark.parametrize("query", [None, "common memory"])
@pytest.mark.parametrize("embedding", [None, [1.0, 2.0, 3.0, 4.0]])
async def test_a_connection_plans_every_kind_of_search_once(
    filled: str, query: str | None, embedding: list[float] | None
) -> None:
    request = SearchRequest(
        namespaces=THREE, query=query, embedding=embedding, where={"absent": True}
    )
    async with plugin.pool_connection(filled) as connection:
        for _ in range(3):
            asked = [statement for statement, _ in await statements(connection, request)]
        kept = await connection.fetch(
            "SELECT generic_plans FROM pg_prepared_statements WHERE statement = ANY($1)", asked
        )
    assert [row["generic_plans"] for row in kept] == [3] * len(asked)


async def test_newest_first_reads_no_more_than_it_may_return(filled: str) -> None:
    arguments: list[tuple[str, object]] = [("text[]", THREE), ("int", 20)]
    nodes = await explain(filled, sql.load("search_newest"), arguments)
    assert indexes(nodes) == {"memory_records_newest"}
    assert rows_read(nodes) == 60
    assert not [n for n in nodes if n["Node Type"] == "Sort" and n["Actual Rows"] > 60]


async def test_newest_first_for_many_reads_no_more_than_all_of_them_may_return(
    filled: str,
) -> None:
    arguments: list[tuple[str, object]] = [
        ("text[]", [*THREE, "workspace:4", "workspace:nowhere"]),
        ("int[]", [1, 4]),
        ("int[]", [3, 5]),
        ("int[]", [20, 5]),
    ]
    nodes = await explain(filled, sql.load("search_newest_for_many"), arguments)
    assert indexes(nodes) == {"memory_records_newest"}
    assert rows_read(nodes) == 60 + 5


async def test_newest_first_of_a_rare_kind_skips_others_inside_the_index(
    filled: str,
) -> None:
    nodes = await plan(filled, SearchRequest(namespaces=["workspace:0"], kinds=["summary"]))
    assert indexes(nodes) == {"memory_records_newest"}
    assert rows_read(nodes) <= 20


async def test_a_rare_word_reads_what_it_finds(filled: str) -> None:
    read = await reads(filled, SearchRequest(namespaces=THREE, query="7001"))
    assert read == {"memory_records_words": 1}


async def test_a_common_word_reads_only_its_matches_in_the_namespaces(filled: str) -> None:
    read = await reads(filled, SearchRequest(namespaces=THREE, query="common memory"))
    # Each of the three holds the word 31 times; the table holds it 1,500 times.
    assert read["memory_records_words"] <= 3 * 32
    # One row of each namespace tells whether it has pinned ones.
    assert read["memory_records_newest"] <= 3
    assert read.keys() == {"memory_records_words", "memory_records_newest"}


async def test_memories_with_the_last_word_are_read_once(filled: str) -> None:
    request = SearchRequest(namespaces=["team:shelves"], query="where did book 9001 go from s9")
    read = await reads(filled, request)
    # Once by the word, and not again by what begins with it.
    assert read["memory_records_words"] == 80


async def test_a_word_that_every_memory_has_is_not_looked_up(filled: str) -> None:
    request = SearchRequest(
        namespaces=["workspace:0"], query="does a memory of number 7 or 1999 or 1998 or 6 exist?"
    )
    read = await reads(filled, request)
    # The namespace holds 2,250 memories, all with the word.
    assert read["memory_records_words"] <= 4
    assert sum(read.values()) <= 96 + 2 * 400 + 800 + 140


async def test_a_word_of_a_seventh_is_not_looked_up_in_a_large_namespace(filled: str) -> None:
    request = SearchRequest(namespaces=["workspace:0"], query="seventh 8 1999 1998 1997 1996?")
    read = await reads(filled, request)
    # The namespace has 321 memories with the first word.
    assert read["memory_records_words"] == 5


async def test_the_newest_are_not_read_where_they_would_be_left_out_of_the_answer(
    filled: str,
) -> None:
    # All of the newest have the first word, which is worth less than a fifth of any other.
    request = SearchRequest(namespaces=["workspace:0"], query="memory 7 1999 1998 1997 1996?")
    read = await reads(filled, request)
    assert read["memory_records_words"] == 5
    # No more than the sample.
    assert read["memory_records_newest"] <= 48


@pytest.mark.parametrize(
    ("filtered", "most"),
    [
        pytest.param({"where": {"turn": 70}}, 3 + 20, id="a field of few"),
        pytest.param({"created_after": NOW - timedelta(minutes=2400)}, 2200, id="the last of many"),
        pytest.param({"created_before": NOW - timedelta(minutes=11950)}, 2200, id="the first"),
    ],
)
async def test_a_filtered_search_reads_what_the_filter_takes(
    filled: str, filtered: dict[str, Any], most: int
) -> None:
    read = await reads(filled, SearchRequest(namespaces=THREE, query="memory", **filtered))
    assert "memory_records_words" in read
    assert sum(read.values()) <= most


@pytest.mark.parametrize(
    ("filtered", "index"),
    [
        ({"where": {"turn": 70}}, "memory_records_words"),
        ({"created_after": NOW - timedelta(minutes=2400)}, "memory_records_newest"),
        ({"created_before": NOW - timedelta(minutes=11950)}, "memory_records_newest"),
    ],
)
async def test_newest_first_with_a_filter_goes_by_the_index_that_serves_it(
    filled: str, filtered: dict[str, Any], index: str
) -> None:
    read = await reads(filled, SearchRequest(namespaces=THREE, **filtered))
    assert read[index] > 0
    # The three namespaces hold 750 memories, the table 12,000.
    assert sum(read.values()) <= 750 + 2 * 20


async def test_newest_first_with_a_filter_that_few_pass_reads_few_of_the_others(
    filled: str,
) -> None:
    # The namespace has 2,250 memories, 40 of which match; one of these is among the newest 200.
    read = await reads(filled, SearchRequest(namespaces=["workspace:0"], where={"turn": 5}))
    assert read["memory_records_words"] == 40
    assert sum(read.values()) <= 200 + 40 + 20


async def test_few_embeddings_are_compared_within_their_namespaces(filled: str) -> None:
    request = SearchRequest(namespaces=["workspace:1", "workspace:2"], embedding=[1.0, 2.0, 3, 4])
    nodes = await plan(filled, request)
    assert indexes(nodes) == {"memory_records_embedded", "memory_records_pkey"}
    # Once to count them, unless no index was there to choose, and once to compare.
    assert rows_read(nodes) <= 2 * 250 + 20


@pytest.mark.parametrize("query", [None, "nothing"])
async def test_embeddings_that_are_newer_than_the_statistics_are_not_read_for_other_namespaces(
    outdated: str, query: str | None
) -> None:
    request = SearchRequest(namespaces=["team:b"], embedding=[1.0, 2.0, 3, 4], query=query)
    assert sum((await reads(outdated, request)).values()) <= 20


async def test_many_embeddings_are_proposed_by_the_index_of_their_dimension(
    filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_MANY", 1000)
    async with plugin.pool_connection(filled) as connection:
        assert await vectors.build_indexes(connection) == [4]
    for query in (None, "memory common"):
        request = SearchRequest(
            namespaces=["workspace:0", "workspace:1"], embedding=[1.0, 2.0, 3, 4], query=query
        )
        nodes = await plan(filled, request)
        proposed = [n for n in nodes if n.get("Index Name") == "memory_records_embedding_4"]
        assert [node["Actual Rows"] for node in proposed] == [200 if query else 40]
        if query:
            assert "memory_records_words" in await reads(filled, request)
