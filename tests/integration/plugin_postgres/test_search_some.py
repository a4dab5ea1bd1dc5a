"""The smaller statements for questions find what the large one finds, with the same scores."""

import random
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from contract import MemoryClient, MemoryWrite, NamespaceUpsert, SearchRequest
from plugin_postgres import rows, sql, usual
from plugin_postgres.commonness import Commonness
from plugin_postgres.lexicon import Lexicon
from plugin_postgres.route import to_json
from plugin_postgres.search import find_rows
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

HOMES = ["workspace:some", "team:some"]
NAMES = ["Ada", "Grace", "Edsger", "Barbara", "Tony"]
COLOURS = ["amber", "blue", "coral", "dun", "emerald", "fawn", "green", "hazel", "indigo", "jade"]
COLOURS += ["khaki", "lilac", "mauve", "navy"]
NAMESPACES = """
INSERT INTO memory_namespaces (name, kind) SELECT unnest($1::text[]), 'custom'
"""
MEMORIES = """
INSERT INTO memory_records (namespace, content, kind, source, created_at, propagation)
SELECT
    namespace, content, CASE WHEN place % 9 = 0 THEN 'summary' ELSE 'fact' END, 'agent',
    now() - place * interval '1 minute', jsonb_build_object('turn', place % 3)
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS memory (namespace, content, place)
"""


def contents(count: int) -> list[str]:
    generator = random.Random(7)
    found = []
    for number in range(count):
        name, other = generator.sample(NAMES, 2)
        place = f"harbour{number % 40}" if number % 3 else f"lantern {number % 11}"
        ending = "?" if number % 5 == 0 else "."
        found.append(f"{name} went with {other} to the {place} on day {number % 70}{ending}")
    return found


@pytest.fixture
async def connection(migrated: str) -> AsyncIterator[asyncpg.Connection]:
    async with plugin.pool_connection(migrated) as connection:
        await connection.execute(NAMESPACES, HOMES)
        texts = contents(450)
        await connection.execute(MEMORIES, [HOMES[n % 5 == 0] for n in range(len(texts))], texts)
        yield connection


@pytest.fixture
async def large(connection: asyncpg.Connection) -> asyncpg.Connection:
    """Many more memories, in which each colour is common, but not common enough for a sample."""
    texts = [
        f"{text} {COLOURS[number % len(COLOURS)]} and {COLOURS[number // 200 % len(COLOURS)]} sails"
        for number, text in enumerate(contents(2_500))
    ]
    await connection.execute(MEMORIES, [HOMES[0]] * len(texts), texts)
    return connection


async def answer(
    connection: asyncpg.Connection, request: SearchRequest, *, is_large: bool = False
) -> tuple[bytes, list[str]]:
    """What is sent, and by which statements it is found; `is_large` leaves the smaller one out."""
    used = []

    async def fetch(statement: str, *arguments: object) -> list[Any]:
        if is_large and statement in usual.STATEMENTS:
            return [(*(None,) * 8, True, None)]
        used.append(statement)
        return list(await connection.fetch(statement, *arguments))

    found = await find_rows(fetch, Lexicon(), Commonness(), request, request.query, None)
    return to_json({"memories": [rows.memory(*row) for row in found]}), used


@pytest.mark.parametrize("homes", [HOMES[:1], HOMES], ids=["one", "two"])
@pytest.mark.parametrize(
    "query",
    [
        pytest.param("Where did Ada and Grace go with the lantern of harbour3?", id="question"),
        pytest.param("Did Ada see the lantern?", id="all words are asked for, too"),
        pytest.param("Tony Barbara lantern zebra quagga?", id="only common words are found"),
        pytest.param("which of them went to the lanter", id="a beginning"),
        pytest.param("did Ada walk to the lanterned", id="a beginning that no word has"),
        pytest.param("Edsger saw Tony at the harbour3", id="a word that is also a beginning"),
        pytest.param("Ada went with Grace to the harbour4 on day 34", id="as it was written"),
        pytest.param("zebra quagga okapi?", id="nothing"),
        pytest.param(
            "Did Ada or Grace go to harbour1, harbour2, harbour4, harbour5, harbour7, harbour8,"
            " harbour10, the lantern 3, or see a zebra, quagga or okapi on day 33, 34 or 35?",
            id="many words",
        ),
        pytest.param(
            "Ada or Grace at harbour1, harbour2, harbour4, harbour5, harbour7, harbour8, harbour10,"
            " lantern 3, zebra, quagga, okapi, day 33, 34 or 35 with the lanter",
            id="many words and a beginning",
        ),
    ],
)
async def test_the_answers_are_the_same(
    connection: asyncpg.Connection, homes: list[str], query: str
) -> None:
    for limit in (3, 20, 100):
        for options in ({}, {"kinds": ["summary"]}, {"where": {"turn": 1}}):
            body = {"namespaces": homes, "query": query, "limit": limit, **options}
            request = SearchRequest.model_validate(body)
            found, used = await answer(connection, request)
            expected, _ = await answer(connection, request, is_large=True)
            assert usual.STATEMENTS.intersection(used)
            assert sql.load("search_text") not in used
            assert found == expected


@pytest.mark.parametrize("homes", [HOMES[:1], HOMES], ids=["one", "two"])
@pytest.mark.parametrize(
    "query",
    [
        pytest.param("Which harbour3 has amber and blue sails?", id="common and rare words"),
        pytest.param("Did Ada see the lantern of harbour3?", id="rare and very common words"),
        pytest.param("coral or zebra?", id="a common word and one that no memory has"),
        pytest.param("amber, navy, hazel?", id="only common words"),
        pytest.param(
            "Ada at harbour1 or harbour2 in amber, blue, coral, emerald, green, indigo or jade?",
            id="many common words",
        ),
        pytest.param("day 33 with Grace in indig", id="a beginning of a common word"),
        pytest.param("harbour4 or harbour5 on day 33, coraled", id="another form of a common word"),
        pytest.param("harbour4 or the hazelnut", id="a beginning that no word has"),
        pytest.param("harbour3 harbour4 harbour5 zebra harbour7?", id="only rare words"),
        pytest.param("zebra quagga okapi?", id="nothing"),
    ],
)
async def test_the_answers_are_the_same_in_a_large_namespace(
    large: asyncpg.Connection, homes: list[str], query: str
) -> None:
    for limit in (3, 20, 100):
        for options in ({}, {"kinds": ["summary"]}, {"where": {"turn": 1}}):
            body = {"namespaces": homes, "query": query, "limit": limit, **options}
            request = SearchRequest.model_validate(body)
            found, used = await answer(large, request)
            expected, _ = await answer(large, request, is_large=True)
            assert sql.load("search_some") in used
            assert sql.load("search_text") not in used
            assert found == expected


async def test_a_memory_that_was_pinned_a_moment_ago_comes_first(client: MemoryClient) -> None:
    home = HOMES[0]
    await client.put_namespace(home, NamespaceUpsert(kind="workspace"))
    for content in contents(60):
        await client.write(home, MemoryWrite(content=content, kind="fact", source="agent"))
    asked = SearchRequest(
        namespaces=[home], query="Which lantern did Ada find with Grace on day 33 or 12?"
    )
    assert (await client.search(asked)).memories
    pinned = MemoryWrite(content="Ada has a lantern", kind="fact", source="agent", pin=True)
    await client.write(home, pinned)
    assert (await client.search(asked)).memories[0].content == pinned.content


async def test_a_word_that_became_common_a_moment_ago_is_found_all_the_same(
    connection: asyncpg.Connection,
) -> None:
    commonness, used = Commonness(), []

    async def fetch(statement: str, *arguments: object) -> list[Any]:
        used.append(statement)
        return list(await connection.fetch(statement, *arguments))

    async def ask() -> list[Any]:
        request = SearchRequest(
            namespaces=HOMES[:1], query="Which zebra did Ada and Tony see at harbour3 and harbour4?"
        )
        return list(await find_rows(fetch, Lexicon(), commonness, request, request.query, None))

    await ask()
    texts = [f"A zebra of herd {number}" for number in range(300)]
    await connection.execute(MEMORIES, [HOMES[0]] * len(texts), texts)
    used.clear()
    assert await ask()
    assert used[-2] in usual.STATEMENTS
    assert used[-1] == sql.load("search_text")


@pytest.mark.parametrize(
    "time",
    [
        "infinity",
        "-infinity",
        "0001-01-01 00:00:00+00",
        "2026-03-01 12:00:00+02",
        "2026-03-01 12:00:00.12+00",
        "9999-12-31 23:59:59.999999+00",
    ],
)
async def test_a_time_is_formatted_like_one_that_the_driver_decodes(
    connection: asyncpg.Connection, time: str
) -> None:
    [(decoded, formatted)] = await connection.fetch(
        "SELECT it, memory_plugin.search_time(it) FROM CAST($1::text AS timestamptz) AS it",
        time,
    )
    assert to_json({"time": formatted}) == to_json({"time": decoded})
