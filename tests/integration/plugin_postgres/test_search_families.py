"""Many namespaces of a family are searched together, and nothing else of the family is found."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from contract import SearchRequest
from plugin_postgres import keys, sql
from plugin_postgres.commonness import Commonness
from plugin_postgres.lexicon import Lexicon
from plugin_postgres.rows import memory
from plugin_postgres.search import find_rows
from tests.integration.plugin_postgres import plugin
from tests.integration.plugin_postgres.test_plans import reads

pytestmark = pytest.mark.anyio

# Two families of 300 and 100 namespaces with four memories each. One more namespace of the first is
# not asked for: it has a word that is rare elsewhere, 2,000 times. One has expired.
ROWS = """
INSERT INTO memory_namespaces (name, kind, expires_at)
SELECT 'custom:app:familyone:' || n, 'custom', NULL::timestamptz FROM generate_series(0, 299) AS n
UNION ALL
SELECT 'custom:app:familytwo:' || n, 'custom', NULL FROM generate_series(0, 99) AS n
UNION ALL
VALUES ('custom:app:familyone:crowd', 'custom', NULL::timestamptz),
    ('custom:app:familyone:gone', 'custom', now() - interval '1 hour');

INSERT INTO memory_records (namespace, content, kind, source, created_at, pin, propagation)
SELECT
    'custom:app:familyone:' || n % 300,
    concat_ws(
        ' ', 'A usual remark of ours with', 'seldom' || n, 'in it',
        CASE WHEN n % 40 = 0 THEN 'harbour' END, CASE WHEN n = 700 THEN 'lantern' END
    ),
    CASE WHEN n % 80 = 0 THEN 'summary' ELSE 'fact' END, 'agent',
    now() - n * interval '1 minute', n = 77, jsonb_build_object('turn', n % 160)
FROM generate_series(1, 1200) AS n;

INSERT INTO memory_records (namespace, content, kind, source, created_at)
SELECT
    'custom:app:familytwo:' || n % 100,
    'A usual remark of theirs with other' || n || ' and harbour', 'fact', 'agent',
    now() - n * interval '1 hour'
FROM generate_series(1, 400) AS n;

INSERT INTO memory_records (namespace, content, kind, source)
SELECT 'custom:app:familyone:crowd', 'A lantern with the number ' || n, 'fact', 'agent'
FROM generate_series(1, 2000) AS n;

INSERT INTO memory_records (namespace, content, kind, source)
VALUES ('custom:app:familyone:gone', 'seldom40 before it expired', 'fact', 'agent'),
    ('custom:app:familyone:crowd', 'seldom41 in the crowd', 'fact', 'agent');

INSERT INTO memory_records (namespace, content, kind, source, expires_at)
SELECT
    'custom:app:familyone:3', 'seldom40 that expired', 'fact', 'agent', now() - interval '1 hour';

-- More than a lookup reads of a word that few facts have, and expired memories with another one.
INSERT INTO memory_records (namespace, content, kind, source, expires_at)
SELECT
    'custom:app:familytwo:' || n % 100,
    CASE n % 2 WHEN 0 THEN 'A balloon' ELSE 'A compass' END || ' with the number ' || n,
    CASE WHEN n <= 3000 AND n % 2 = 0 THEN 'summary' ELSE 'fact' END, 'agent',
    CASE WHEN n <= 3000 AND n % 2 = 1 THEN now() - interval '1 hour' END
FROM generate_series(1, 3010) AS n;

ANALYZE memory_records;
"""
ONE = [f"custom:app:familyone:{n}" for n in range(300)]
TWO = [f"custom:app:familytwo:{n}" for n in range(100)]


@pytest.fixture(scope="module")
def filled(cluster: str, migrated_template: str) -> Iterator[str]:
    with plugin.filled_database(cluster, migrated_template, ROWS) as url:
        yield url


class Asked:
    """Searches on one connection, and which statements they took."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._commonness = Commonness()
        self.ways: list[str] = []
        self.with_names: list[bool] = []

    async def found(self, namespaces: list[str], query: str, **others: Any) -> list[str]:
        self.ways.clear()
        self.with_names.clear()
        request = SearchRequest(namespaces=namespaces, query=query, **{"limit": 10, **others})
        rows = await find_rows(
            self._fetch, Lexicon(), self._commonness, request, query, request.embedding
        )
        assert {row[1] for row in rows} <= set(namespaces)
        return [memory(*row)["content"] for row in rows]

    async def _fetch(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        if statement == sql.load("search_text_in_families"):
            self.ways.append("families")
            self.with_names.append(arguments[0] != "{}")
        elif statement == sql.load("search_text"):
            self.ways.append("namespaces")
        return await self._connection.fetch(statement, *arguments)


async def test_names_have_the_same_family_here_and_in_the_database(migrated: str) -> None:
    names = {
        "custom:gw:5818cc45661be420:chat:e042dca64021": "custom:gw:5818cc45661be420",
        "custom:gw:5818cc45661be420:res:e042dca64021": "custom:gw:5818cc45661be420",
        "custom:conv:5818cc45-661b-8204-a2fe-801f42b648c1": "custom:conv:5818cc45",
        "team:a:eight.of:them": "team:a:eight.of",
        "custom:recall:archive:5818cc45661be420": None,  # a word, and anybody's
        "workspace:018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11": None,
        "custom:conv:5818cc45661b": None,
        "custom::eight.of:them": None,
        "custom:a::eight.of:them": None,
    }
    assert {name: keys.family(name) for name in names} == names
    async with plugin.pool_connection(migrated) as connection:
        rows = await connection.fetch(
            "SELECT name, memory_plugin.search_family(name) AS family"
            " FROM unnest($1::text[]) AS name",
            list(names),
        )
    assert {row["name"]: row["family"] for row in rows} == names


def test_namespaces_between_two_of_a_family_need_not_be_of_it() -> None:
    names = ["custom:a:familyone-1", "custom:a:familyone0:1", "custom:a:familyone:1"] * 10
    assert keys.families(names) == ("custom:a:familyone", "custom:a:familyone0")


async def test_a_word_is_looked_up_once_for_all_of_a_family(filled: str) -> None:
    read = await reads(filled, SearchRequest(namespaces=ONE, query="seldom700 seldom701?"))
    assert "memory_records_words" not in read
    assert read["memory_records_families"] == 2


@pytest.mark.parametrize(
    ("query", "others"),
    [
        ("seldom40", {}),
        ("seldom40?", {}),
        ("seldo", {}),
        ("harb", {}),
        ("until then", {}),
        ("eldom8", {}),
        ("seldom40 seldom80?", {}),
        ("seldom40 seldom60 harb", {"limit": 3}),
        ("What was the usual remark about seldom40 and the harbour?", {}),
        ("harbour seldom80?", {"kinds": ["summary"]}),
        ("harbour seldom80?", {"where": {"turn": 80}}),
        ("nothing here has any of it", {}),
        ("zeppelin usual?", {}),
        ("usual zeppelin", {}),
    ],
)
async def test_it_finds_what_a_search_by_namespace_finds(
    filled: str, query: str, others: dict[str, Any]
) -> None:
    async with plugin.pool_connection(filled) as connection:
        asked = Asked(connection)
        # A name without a family keeps the others from being searched together.
        by_namespace = await asked.found([*ONE, "team:none"], query, **others)
        assert set(asked.ways) == {"namespaces"}
        assert await asked.found(ONE, query, **others) == by_namespace
        assert set(asked.ways) == {"families"}


@pytest.mark.parametrize(
    ("query", "others"),
    [
        ("balloon zeppelin?", {"kinds": ["fact"]}),
        ("balloon?", {"kinds": ["fact"]}),
        ("compass?", {}),
    ],
)
async def test_nothing_is_missed_behind_what_a_lookup_reads_in_vain(
    filled: str, query: str, others: dict[str, Any]
) -> None:
    async with plugin.pool_connection(filled) as connection:
        asked = Asked(connection)
        assert len(await asked.found(TWO, query, **others)) == 5
        assert asked.ways[0] == "families"


async def test_a_span_of_time_holds(filled: str) -> None:
    now = datetime.now(UTC)
    async with plugin.pool_connection(filled) as connection:
        asked = Asked(connection)
        span = {"created_after": now - timedelta(minutes=130)}
        [only] = await asked.found(ONE, "harbour seldom80 seldom400?", **span, limit=1)
        assert "seldom80 " in only
        old = {"created_before": now - timedelta(minutes=300)}
        [only] = await asked.found(ONE, "harbour seldom80 seldom400?", **old, limit=1)
        assert "seldom400 " in only


async def test_a_pinned_memory_comes_first_also_where_only_a_common_word_finds_it(
    filled: str,
) -> None:
    async with plugin.pool_connection(filled) as connection:
        asked = Asked(connection)
        [first, *_] = await asked.found(ONE, "A usual remark about the harbour?")
        assert "seldom77 " in first
        assert set(asked.ways) == {"families"}
        assert asked.with_names == [False, True]
        # From then on, the names are sent at once.
        assert (await asked.found(ONE, "A usual remark about the harbour?"))[0] == first
        assert asked.with_names == [True]


async def test_the_names_are_not_sent_if_lookups_are_enough(filled: str) -> None:
    async with plugin.pool_connection(filled) as connection:
        asked = Asked(connection)
        assert len(await asked.found(ONE, "seldom50 seldom80?", limit=2)) == 2
        assert asked.with_names == [False]


async def test_what_is_in_other_namespaces_of_the_family_is_not_found(filled: str) -> None:
    async with plugin.pool_connection(filled) as connection:
        asked = Asked(connection)
        in_all = await asked.found([*ONE, "custom:app:familyone:crowd"], "seldom41?")
        assert len(in_all) == 2
        assert await asked.found(ONE, "seldom41?") == ["A usual remark of ours with seldom41 in it"]
        # It is asked again, and from then on knows that the family is larger.
        assert asked.ways == ["families", "families"]
        assert await asked.found(ONE, "seldom41?") == ["A usual remark of ours with seldom41 in it"]
        assert asked.ways == ["families"]
        some = [name for name in ONE if not name.endswith("1")]
        assert await asked.found(some, "seldom41?") == []


async def test_nothing_is_missed_where_others_of_the_family_have_too_much_of_a_word(
    filled: str,
) -> None:
    async with plugin.pool_connection(filled) as connection:
        asked = Asked(connection)
        [only] = await asked.found(ONE, "lantern nonsense?")
        assert "seldom700 " in only
        assert asked.ways == ["families", "namespaces"]


async def test_a_word_that_very_many_have_is_still_looked_up_by_family(filled: str) -> None:
    everywhere = [*ONE, "custom:app:familyone:crowd"]
    async with plugin.pool_connection(filled) as connection:
        asked = Asked(connection)
        found = await asked.found(everywhere, "lantern nonsense?")
        assert len(found) == 10
        assert all("lantern" in content for content in found)
        assert set(asked.ways) == {"families"}


async def test_a_namespace_that_has_expired_finds_nothing(filled: str) -> None:
    async with plugin.pool_connection(filled) as connection:
        asked = Asked(connection)
        found = await asked.found([*ONE, "custom:app:familyone:gone"], "seldom40?")
        assert found == ["A usual remark of ours with seldom40 in it harbour"]


async def test_several_families_are_searched_together(filled: str) -> None:
    read = await reads(filled, SearchRequest(namespaces=ONE + TWO, query="seldom700 other300?"))
    assert "memory_records_words" not in read
    async with plugin.pool_connection(filled) as connection:
        found = await Asked(connection).found(ONE + TWO, "seldom700 other300?")
    assert sorted(found) == [
        "A usual remark of ours with seldom700 in it lantern",
        "A usual remark of theirs with other300 and harbour",
    ]


async def test_names_without_a_family_are_not_in_its_index(migrated: str) -> None:
    async with plugin.pool_connection(migrated) as connection, connection.transaction():
        before = await connection.fetchval(SIZE)
        await connection.execute(
            "INSERT INTO memory_namespaces (name, kind) VALUES ('team:a', 'team');"
            " INSERT INTO memory_records (namespace, content, kind, source)"
            " SELECT 'team:a', 'Memory ' || n, 'fact', 'agent' FROM generate_series(1, 500) AS n"
        )
        assert await connection.fetchval(SIZE) == before


SIZE = "SELECT pg_relation_size('memory_plugin.memory_records_families')"
