"""A search over very many namespaces finds what a search over the few that matter finds."""

from collections.abc import Iterator

import pytest

from contract import SearchRequest
from plugin_postgres.commonness import Commonness
from plugin_postgres.lexicon import Lexicon
from plugin_postgres.rows import memory
from plugin_postgres.search import find_rows
from tests.integration.plugin_postgres import plugin
from tests.integration.plugin_postgres.test_plans import reads

pytestmark = pytest.mark.anyio

# Ten namespaces of twenty memories, and five hundred with nothing in them. Then 300 of four, which
# all have a word in common; in some of them there is one more that has expired, and in another an
# old one of a single function word. Then 80 with one fact each, older than the summaries there.
ROWS = """
INSERT INTO memory_namespaces (name, kind)
SELECT 'custom:' || n, 'custom' FROM generate_series(0, 509) AS n;

INSERT INTO memory_records (namespace, content, kind, source, created_at, pin, propagation)
SELECT
    'custom:' || n % 10 * 51,
    concat_ws(
        ' ',
        'The agent noted that service', 'svc' || n % 7, 'needs', 'rare' || n, 'before',
        'u' || n % 50,
        CASE WHEN n % 8 = 0 THEN 'harbour' END, CASE WHEN n % 5 = 0 THEN 'lantern' END
    ),
    'fact', 'agent', now() - n * interval '1 minute', n = 77, jsonb_build_object('turn', n % 20)
FROM generate_series(1, 200) AS n;

INSERT INTO memory_namespaces (name, kind)
SELECT 'custom:even' || n, 'custom' FROM generate_series(0, 299) AS n;

INSERT INTO memory_records (namespace, content, kind, source, created_at)
SELECT
    'custom:even' || n % 300, 'A usual remark of ours with seldom' || n || ' in it',
    'fact', 'agent', now() - n * interval '1 minute'
FROM generate_series(1, 1200) AS n;

INSERT INTO memory_records (namespace, content, kind, source, expires_at)
SELECT
    'custom:even' || n * 18, 'A usual remark that vanished', 'fact', 'agent',
    now() - interval '1 hour'
FROM generate_series(0, 3) AS n;

INSERT INTO memory_records (namespace, content, kind, source, created_at)
VALUES ('custom:even7', 'The', 'fact', 'agent', now() - interval '30 days');

INSERT INTO memory_namespaces (name, kind)
SELECT 'custom:mixed' || n, 'custom' FROM generate_series(0, 79) AS n;

INSERT INTO memory_records (namespace, content, kind, source, created_at)
SELECT
    'custom:mixed' || n % 80,
    CASE WHEN n < 320 THEN 'An ordinary summary' ELSE 'An ordinary fact' END,
    CASE WHEN n < 320 THEN 'summary' ELSE 'fact' END, 'agent', now() - n * interval '1 minute'
FROM generate_series(0, 399) AS n;

ANALYZE memory_records;
"""
FEW = [f"custom:{n * 51}" for n in range(10)]
MANY = [f"custom:{n}" for n in range(510)]
EVEN = [f"custom:even{n}" for n in range(300)]
MIXED = [f"custom:mixed{n}" for n in range(80)]


@pytest.fixture(scope="module")
def filled(cluster: str, migrated_template: str) -> Iterator[str]:
    with plugin.filled_database(cluster, migrated_template, ROWS) as url:
        yield url


async def found(
    url: str,
    namespaces: list[str],
    query: str,
    where: object = None,
    kinds: list[str] | None = None,
) -> list[str]:
    request = SearchRequest.model_validate(
        {"namespaces": namespaces, "query": query, "limit": 10, "where": where, "kinds": kinds}
    )
    async with plugin.pool_connection(url) as connection:
        rows = await find_rows(
            connection.fetch, Lexicon(), Commonness(), request, request.query, None
        )
    return [memory(*row)["content"] for row in rows]


@pytest.mark.parametrize(
    "query",
    [
        "rare140",
        "harbour lantern",
        "harb",
        "What did the agent note about u7 and u13 harbour?",
        "Which service needs a lantern before u20, u21, u22 and u23?",
        "is rare99 or rare100 nowhere",
        "nothing here has any of it",
        "are1",
        "the",
    ],
)
async def test_additional_empty_namespaces_change_nothing(filled: str, query: str) -> None:
    few = await found(filled, FEW, query)
    assert await found(filled, MANY, query) == few


async def test_a_filter_holds_over_many_namespaces(filled: str) -> None:
    asked = ("What did the agent note about harbour and lantern?", {"turn": 0})
    few = await found(filled, FEW, *asked)
    assert len(few) == 10
    assert await found(filled, MANY, *asked) == few


async def test_a_pinned_memory_comes_first_also_where_only_a_common_word_finds_it(
    filled: str,
) -> None:
    [first, *_] = await found(filled, MANY, "Does the agent need u3 or u4 or rare200?")
    assert "rare77 " in first


async def test_a_word_that_most_memories_have_is_not_looked_up_in_many_namespaces(
    filled: str,
) -> None:
    query = "usual seldom700 seldom701?"
    read = await reads(filled, SearchRequest(namespaces=EVEN, query=query))
    # All of the 1,200 memories have the word.
    assert read["memory_records_words"] == 2
    assert sorted(await found(filled, EVEN, query)) == [
        f"A usual remark of ours with seldom{n} in it" for n in (700, 701)
    ]


async def test_a_word_that_most_memories_have_is_found_where_nothing_else_is(filled: str) -> None:
    request = SearchRequest(namespaces=EVEN, query="a usual nonsense?", limit=10)
    assert len(await found(filled, EVEN, "a usual nonsense?")) == 10
    read = await reads(filled, request)
    # Some of the newest are enough.
    assert "memory_records_words" not in read or read["memory_records_words"] == 0
    assert read["memory_records_newest"] <= 64 + 800 + 300


async def test_a_common_word_is_found_also_where_the_rare_one_has_expired(filled: str) -> None:
    assert len(await found(filled, EVEN, "a usual vanished?")) == 10


async def test_a_common_word_is_looked_up_where_the_newest_are_of_another_kind(filled: str) -> None:
    facts = await found(filled, MIXED, "ordinary nonsense?", kinds=["fact"])
    assert facts == ["An ordinary fact"] * 10


async def test_more_than_three_function_words_are_looked_up_if_need_be(filled: str) -> None:
    assert await found(filled, EVEN, "about into from the?") == ["The"]


async def test_of_long_memories_a_sample_has_the_beginning(filled: str) -> None:
    async with plugin.pool_connection(filled) as connection, connection.transaction():
        await connection.execute(
            "INSERT INTO memory_namespaces (name, kind) VALUES ('custom:long', 'custom');"
            " INSERT INTO memory_records (namespace, content, kind, source)"
            " SELECT 'custom:long', CASE WHEN n % 8 = 0"
            "   THEN (SELECT 'A usual ' || string_agg(md5(n || '-' || word), ' ') || ' end'"
            "     FROM generate_series(1, 900) AS word)"
            "   ELSE 'A usual remark' END, 'fact', 'agent'"
            " FROM generate_series(1, 48) AS n"
        )
        sample = await Commonness().sample(connection.fetch, ["custom:long"])
    assert (sample.taken, sample.seen("'@usual'"), sample.estimate("'@usual'")) == (48, 48, 48)
    assert sample.seen("'@end'") == 0
    assert sample.seen("'@us':*", without="'@remark'") == 6


async def test_a_common_word_that_the_query_begins_counts_little(filled: str) -> None:
    async with plugin.pool_connection(filled) as connection, connection.transaction():
        await connection.execute(
            "INSERT INTO memory_namespaces (name, kind) VALUES ('custom:begun', 'custom');"
            " INSERT INTO memory_records (namespace, content, kind, source, created_at)"
            " SELECT 'custom:begun',"
            "   CASE WHEN n <= 10 THEN 'Something blue' ELSE 'A remark on the project' END,"
            "   'fact', 'agent', now() - (2000 - n) * interval '1 minute'"
            " FROM generate_series(1, 1000) AS n"
        )
        request = SearchRequest(namespaces=["custom:begun"], query="blue proj", limit=10)
        rows = await find_rows(
            connection.fetch, Lexicon(), Commonness(), request, request.query, None
        )
    assert [memory(*row)["content"] for row in rows] == ["Something blue"] * 10
