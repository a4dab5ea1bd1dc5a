"""Every memory can be stored and every query answered, however odd."""

import random
import string
from uuid import uuid4

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import given, settings
from hypothesis import strategies as st

from contract import MemoryClient, MemoryWrite, NamespaceUpsert, SearchRequest
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

HOME = "workspace:limits"
LARGEST = 256 * 1024


def words(count: int) -> str:
    letters = string.ascii_lowercase
    return " ".join(
        letters[n % 26] + letters[n // 26 % 26] + letters[n // 676 % 26] + letters[n // 17576 % 26]
        for n in range(count)
    )


def characters(first: int, count: int) -> str:
    generator = random.Random(first)
    return "".join(chr(first + generator.randrange(20_000)) for _ in range(count))


@pytest.mark.parametrize(
    ("content", "query"),
    [
        pytest.param(words(LARGEST // 5), "bcda", id="distinct words"),
        pytest.param("x" * LARGEST, "x" * 300, id="one word"),
        pytest.param(characters(0x4E00, LARGEST // 3), None, id="chinese"),
        pytest.param(characters(0x20000, LARGEST // 4), None, id="rare chinese"),
        pytest.param("ﷺ" * (LARGEST // 3), "صلى", id="ligatures that unfold"),
        pytest.param("\u0301" * (LARGEST // 2 - 4) + " mark", "mark", id="combining marks"),
        pytest.param("🚀" * (LARGEST // 4), "🚀", id="emoji"),
        pytest.param("'\\:&|!()<->*" * (LARGEST // 13) + "end", "end", id="operators"),
        pytest.param("a" * 3000 + " " + "b" * 2046, "a" * 255, id="words of 3,000 letters"),
    ],
)
async def test_the_largest_content_is_kept_and_found_by_its_beginning(
    client: MemoryClient, content: str, query: str | None
) -> None:
    assert len(content.encode()) <= LARGEST
    await client.put_namespace(HOME, NamespaceUpsert(kind="workspace"))
    await client.write(HOME, MemoryWrite(content=content, kind="fact", source="agent"))
    asked = SearchRequest(namespaces=[HOME], query=query or content[:2])
    [memory] = (await client.search(asked)).memories
    assert memory.content == content


async def test_a_query_of_ten_kilobytes_finds_the_memory_that_shares_most(
    client: MemoryClient,
) -> None:
    await client.put_namespace(HOME, NamespaceUpsert(kind="workspace"))
    text = words(2_000)
    for content in (text, " ".join(text.split()[:500]), "aaaa", "nothing in common"):
        await client.write(HOME, MemoryWrite(content=content, kind="fact", source="agent"))
    for query in (text, text.replace(" ", "-"), "'" * 5_000 + text[:5_000], text * 10):
        assert len(query) >= 9_999
        found = (await client.search(SearchRequest(namespaces=[HOME], query=query))).memories
        assert found[0].content in (text, " ".join(text.split()[:500]))


@pytest.mark.parametrize(
    "query", ["字" * 3_400, "🚀" * 2_500, "a " * 5_000, "the " * 2_500, "?" * 10_000, "x" * 10_000]
)
async def test_a_long_query_of_any_kind_is_answered(client: MemoryClient, query: str) -> None:
    await client.put_namespace(HOME, NamespaceUpsert(kind="workspace"))
    for content in ("字字", "a 🚀 the fox", "?" * 100):
        await client.write(HOME, MemoryWrite(content=content, kind="fact", source="agent"))
    await client.search(SearchRequest(namespaces=[HOME], query=query))


TEXT = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60),
    st.text(st.sampled_from("ab1 '\\\":&|!()<>-*@.~$%_#éßİ字ー한ไ🚀\u200d\u0301\t\n"), min_size=1),
).filter(lambda text: not text.isspace())


def test_any_text_is_a_valid_query_and_a_memory_is_found_by_its_own(migrated: str) -> None:
    async def ask(content: str, query: str) -> tuple[bool, bool]:
        home = f"workspace:{uuid4()}"
        await client.put_namespace(home, NamespaceUpsert(kind="workspace"))
        await client.write(home, MemoryWrite(content=content, kind="fact", source="agent"))
        await client.search(SearchRequest(namespaces=[home], query=query))
        await client.search(SearchRequest(namespaces=[home], query=query, embedding=[1.0]))
        itself = await client.search(SearchRequest(namespaces=[home], query=content))
        visible = await connection.fetchval("SELECT search_fold($1) ~ '[^[:space:]]'", content)
        return bool(itself.memories), visible

    @settings(max_examples=100, deadline=None)
    @given(content=TEXT, query=TEXT)
    def holds(content: str, query: str) -> None:
        found, visible = portal.call(ask, content, query)
        assert found or not visible

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(plugin.memory_client(migrated)) as client,
        portal.wrap_async_context_manager(plugin.pool_connection(migrated)) as connection,
    ):
        holds()
