"""What a person would expect to find, in many scripts, one fixture of memories for all."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from contract import MemoryClient, SearchRequest
from tests.conftest import database_url, execute
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

HOME = "workspace:library"

MEMORIES = [
    "The deployment of svc-auth_v2 failed on Friday",
    "svc auth runs in version v2 of the old cluster",
    "We are deploying Kubernetes clusters in Frankfurt",
    "CVE-2024-1234 is fixed in the login page",
    "CVE-2024-9999 is still open",
    "The user prefers dark mode in the editor",
    "The user prefers tea",
    "to be or not to be",
    "The parser is written in C++ and fast",
    "The kernel is written in C",
    "getUserName returns the account",
    "Postgres listens on 10.0.0.12:5432",
    "Mail goes to ops@example.com",
    "config lives in /etc/app/settings.yaml",
    "Größe des Cafés in Łódź: über 100 m²",
    "Die Straße ist gesperrt",
    "L'élève a mangé à la crêperie",
    "Пользователь любит чай",
    "Ο ΔΡΟΜΟΣ είναι κλειστός",
    "東京都の天気は晴れです",
    "京都へ旅行に行きたい",
    "用户喜欢深色模式",
    "สวัสดีชาวโลก",
    "한국어는 어렵다",
    "サーバーを再起動した",
    "नमस्ते दुनिया",
    "مُحَمَّد يحب القهوة",
    "שָׁלוֹם עולם",
    "I love rockets 🚀 and 👩‍💻 work",
    "Price is 5€ -> ask Bob?!",
    'She said "never again" & left',
    "ﬁnancial results for Ｔｏｋｙｏ",
]


@pytest.fixture(scope="module")
def library(cluster: str, migrated_template: str) -> Iterator[str]:
    """The URL of a database with all the memories, the first one the newest."""
    name = f"library_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}" TEMPLATE "{migrated_template}"')
    url = database_url(cluster, name)

    async def fill() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(
            "INSERT INTO memory_plugin.memory_namespaces (name, kind) VALUES ($1, 'workspace')",
            HOME,
        )
        await connection.executemany(
            "INSERT INTO memory_plugin.memory_records"
            " (namespace, content, kind, source, created_at)"
            " VALUES ($1, $2, 'fact', 'agent', now() - $3 * interval '1 minute')",
            [(HOME, content, place) for place, content in enumerate(MEMORIES)],
        )
        await connection.close()

    asyncio.run(fill())
    yield url
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
async def client(library: str) -> AsyncIterator[MemoryClient]:
    async with plugin.memory_client(library) as client:
        yield client


async def find(client: MemoryClient, query: str) -> list[str]:
    answer = await client.search(SearchRequest(namespaces=[HOME], query=query))
    return [memory.content for memory in answer.memories]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        pytest.param("deploys", "We are deploying", id="stem"),
        pytest.param("cluster", "We are deploying", id="plural"),
        pytest.param("svc-auth_v2", "The deployment of svc-auth_v2", id="identifier"),
        pytest.param("SVC-AUTH_V2", "The deployment of svc-auth_v2", id="identifier-case"),
        pytest.param("auth_v2", "The deployment of svc-auth_v2", id="part-of-identifier"),
        pytest.param("CVE-2024-1234", "CVE-2024-1234", id="cve"),
        pytest.param("cve 1234", "CVE-2024-1234", id="parts-of-cve"),
        pytest.param("10.0.0.12", "Postgres listens", id="address"),
        pytest.param("5432", "Postgres listens", id="port"),
        pytest.param("ops@example.com", "Mail goes", id="mail"),
        pytest.param("example", "Mail goes", id="part-of-mail"),
        pytest.param("settings.yaml", "config lives", id="file"),
        pytest.param("/etc/app", "config lives", id="path"),
        pytest.param("to be or not to be", "to be or not", id="stop-words-alone"),
        pytest.param("not", "to be or not", id="one-stop-word"),
        pytest.param("C++", "The parser is written in C++", id="punctuation-counts"),
        pytest.param("c", "The kernel is written in C", id="one-character"),
        pytest.param("m²", "Größe des Cafés", id="two-characters"),
        pytest.param("kubern", "We are deploying", id="prefix"),
        pytest.param("the kube", "We are deploying", id="prefix-of-last-word"),
        pytest.param("deploym", "The deployment", id="prefix-beyond-the-stem"),
        pytest.param("ku", "We are deploying", id="prefix-of-two"),
        pytest.param("username", "getUserName", id="inside-a-word"),
        pytest.param("grosse", "Größe des Cafés", id="sharp-s-and-umlaut"),
        pytest.param("GRÖSSE", "Größe des Cafés", id="upper-case-sharp-s"),
        pytest.param("cafe", "Größe des Cafés", id="accent"),
        pytest.param("lodz", "Größe des Cafés", id="stroke"),
        pytest.param("strasse", "Die Straße", id="sharp-s"),
        pytest.param("eleve creperie", "L'élève", id="french"),
        pytest.param("ЧАЙ", "Пользователь", id="cyrillic-case"),
        pytest.param("δρομος", "Ο ΔΡΟΜΟΣ", id="greek-final-sigma"),
        pytest.param("ΚΛΕΙΣΤΟΣ", "Ο ΔΡΟΜΟΣ", id="greek-accent"),
        pytest.param("天気", "東京都の天気", id="japanese"),
        pytest.param("東京", "東京都の天気", id="japanese-name"),
        pytest.param("晴", "東京都の天気", id="one-kanji"),
        pytest.param("東京の天気", "東京都の天気", id="japanese-most-of-it"),
        pytest.param("深色", "用户喜欢深色模式", id="chinese"),
        pytest.param("式", "用户喜欢深色模式", id="last-character-of-a-run"),
        pytest.param("ชาวโลก", "สวัสดีชาวโลก", id="thai"),
        pytest.param("한국", "한국어는", id="korean-without-particle"),
        pytest.param("サーバ", "サーバーを", id="katakana"),
        pytest.param("ｻｰﾊﾞｰ", "サーバーを", id="half-width-katakana"),
        pytest.param("दुनिया", "नमस्ते", id="hindi"),
        pytest.param("محمد", "مُحَمَّد", id="arabic-without-vowels"),
        pytest.param("שלום", "שָׁלוֹם", id="hebrew-without-points"),
        pytest.param("🚀", "I love rockets", id="emoji"),
        pytest.param("👩‍💻", "I love rockets", id="joined-emoji"),
        pytest.param("€", "Price is", id="currency"),
        pytest.param("->", "Price is", id="punctuation-only"),
        pytest.param("?!", "Price is", id="punctuation-pair"),
        pytest.param("'", "L'élève", id="apostrophe"),
        pytest.param('"never again"', "She said", id="quotes"),
        pytest.param("never & !again | (left):*", "She said", id="operators"),
        pytest.param("financial", "ﬁnancial", id="ligature"),
        pytest.param("tokyo", "ﬁnancial", id="full-width"),
    ],
)
async def test_a_query_finds_first_what_a_person_expects(
    client: MemoryClient, query: str, first: str
) -> None:
    found = await find(client, query)
    assert found, f"{query!r} found nothing"
    assert found[0].startswith(first)


@pytest.mark.parametrize("query", ["zzz", "xylophone zebra", "~", "Ж", "龍", "🦖", "\u200b"])
async def test_a_query_that_matches_nothing_gets_an_empty_list(
    client: MemoryClient, query: str
) -> None:
    assert await find(client, query) == []


async def test_an_identifier_ranks_the_whole_above_its_parts(client: MemoryClient) -> None:
    found = await find(client, "svc-auth_v2")
    assert found[:2] == [
        "The deployment of svc-auth_v2 failed on Friday",
        "svc auth runs in version v2 of the old cluster",
    ]


async def test_memories_with_most_of_the_words_follow_those_with_all(client: MemoryClient) -> None:
    assert await find(client, "user prefers dark mode") == [
        "The user prefers dark mode in the editor",
        "The user prefers tea",
    ]


async def test_words_that_no_memory_has_all_of_find_the_one_with_most(client: MemoryClient) -> None:
    found = await find(client, "what does the user prefer: dark mode, light mode or sepia?")
    assert found[0] == "The user prefers dark mode in the editor"


async def test_a_question_finds_the_one_memory_that_shares_a_single_word(
    client: MemoryClient,
) -> None:
    assert await find(client, "Which beverage would someone in Frankfurt order?") == [
        "We are deploying Kubernetes clusters in Frankfurt"
    ]


async def test_of_memories_that_lack_as_many_words_the_one_with_the_rarer_word_is_first(
    client: MemoryClient,
) -> None:
    found = await find(client, "user Frankfurt")
    assert found == [
        "We are deploying Kubernetes clusters in Frankfurt",
        "The user prefers tea",
        "The user prefers dark mode in the editor",
    ]


async def test_an_exact_word_ranks_above_the_beginning_of_one(client: MemoryClient) -> None:
    found = await find(client, "c")
    assert found[:2] == ["The kernel is written in C", "The parser is written in C++ and fast"]
    assert "CVE-2024-1234 is fixed in the login page" in found[2:]


async def test_scores_fall_and_are_the_same_for_equal_matches(client: MemoryClient) -> None:
    answer = await client.search(SearchRequest(namespaces=[HOME], query="user"))
    scores = [memory.score or 0 for memory in answer.memories]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "to be or not to be",
        "The agent noted that svc-auth_v2 (ERR-1042) fails: see https://example.org/a?b=1&c=%20d",
        "Tabs\tand\nlines\r\nand 1.5e10, -7, 0x1F, v2.0.1, a@b.example <b>bold</b> &amp; it's",
        "one two three four five six seven eight nine ten eleven twelve " * 30,
        "caf\u00e9 one two three four five six seven eight nine ten eleven twelve",
        "x" * 3000 + " one two three four five six seven eight nine ten",
    ],
)
async def test_short_texts_have_the_words_of_all_others(migrated: str, content: str) -> None:
    """They are read on a shorter way."""
    connection = await asyncpg.connect(migrated)
    found = await connection.fetchrow(
        "SELECT memory_plugin.search_document($1)::text, memory_plugin.search_lexemes($1)::text",
        content,
    )
    assert found is not None
    assert found[0] == found[1]
    await connection.close()
