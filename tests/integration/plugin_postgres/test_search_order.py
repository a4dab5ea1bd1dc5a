"""The order of what is found, and who may be among it: pins, ties, kinds, expiry, bounds."""

import asyncpg
import pytest

from contract import MemoryClient, MemoryWrite, NamespaceUpsert, SearchRequest
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

HOME = "workspace:order"
MODES: list[dict[str, object]] = [
    {},
    {"query": "word"},
    {"embedding": [1.0, 0.0]},
    {"query": "word", "embedding": [1.0, 0.0]},
]
MODE_NAMES = ["newest", "text", "embedding", "hybrid"]


async def insert(url: str, rows: str) -> None:
    """Insert into HOME the rows that a SELECT gives: content, kind, pin, created_at, embedding."""
    async with plugin.pool_connection(url) as connection:
        await connection.execute(
            "INSERT INTO memory_namespaces (name, kind) VALUES ($1, 'workspace')"
            " ON CONFLICT DO NOTHING",
            HOME,
        )
        await connection.execute(
            "INSERT INTO memory_records (namespace, content, kind, pin, created_at, embedding,"
            f" source) SELECT '{HOME}', given.*, 'agent' FROM ({rows}) AS given"
        )


async def find(client: MemoryClient, **fields: object) -> list[str]:
    request = SearchRequest.model_validate({"namespaces": [HOME], **fields})
    return [memory.content for memory in (await client.search(request)).memories]


async def test_the_newest_come_first_across_namespaces(client: MemoryClient) -> None:
    names = [f"workspace:{letter}" for letter in "abc"]
    for name in names:
        await client.put_namespace(name, NamespaceUpsert(kind="workspace"))
    for place in range(9):
        await client.write(
            names[place % 3], MemoryWrite(content=str(place), kind="fact", source="user")
        )
    answer = await client.search(SearchRequest(namespaces=names, limit=5))
    assert [memory.content for memory in answer.memories] == ["8", "7", "6", "5", "4"]
    assert all(memory.score is None for memory in answer.memories)


@pytest.mark.parametrize("mode", MODES, ids=MODE_NAMES)
async def test_pinned_memories_come_first(
    migrated: str, client: MemoryClient, mode: dict[str, object]
) -> None:
    await insert(
        migrated,
        "SELECT 'word ' || n, 'fact', n IN (2, 5), now() - n * interval '1 hour', '[1,0]'::vector"
        " FROM generate_series(1, 6) AS n",
    )
    found = await find(client, **mode)
    assert found[:2] == ["word 2", "word 5"]
    assert found[2:] == ["word 1", "word 3", "word 4", "word 6"]


@pytest.mark.parametrize("mode", MODES[:2], ids=MODE_NAMES[:2])
async def test_a_pinned_memory_comes_first_however_old_it_is(
    migrated: str, client: MemoryClient, mode: dict[str, object]
) -> None:
    await insert(
        migrated,
        "SELECT 'word ' || n, 'fact', n = 3000, now() - n * interval '1 hour', NULL::vector"
        " FROM generate_series(1, 3000) AS n",
    )
    assert (await find(client, limit=2, **mode))[0] == "word 3000"


async def test_a_pinned_memory_that_has_half_of_the_words_comes_first(
    migrated: str, client: MemoryClient
) -> None:
    await insert(
        migrated,
        "VALUES ('red apple', 'fact', false, now(), NULL::vector),"
        " ('red pear', 'fact', true, now(), NULL), ('blue plum', 'fact', true, now(), NULL)",
    )
    for limit in (1, 2, 3):
        expected = ["red pear", "red apple"][:limit]
        assert await find(client, query="red apple", limit=limit) == expected


@pytest.mark.parametrize("mode", MODES[2:], ids=MODE_NAMES[2:])
async def test_a_pin_does_not_displace_relevant_memories(
    migrated: str, client: MemoryClient, mode: dict[str, object]
) -> None:
    await insert(
        migrated,
        "SELECT 'word near ' || n, 'fact', false, now(), '[1,0]'::vector"
        " FROM generate_series(1, 3) AS n"
        " UNION ALL"
        " SELECT 'far ' || n, 'fact', true, now(), '[-1,0.5]' FROM generate_series(1, 9) AS n",
    )
    found = await find(client, limit=3, **mode)
    assert sorted(found) == ["word near 1", "word near 2", "word near 3"]


@pytest.mark.parametrize("mode", MODES, ids=MODE_NAMES)
async def test_equal_memories_keep_their_order_and_every_limit_gives_the_beginning_of_it(
    migrated: str, client: MemoryClient, mode: dict[str, object]
) -> None:
    await insert(
        migrated,
        "SELECT 'word ' || chr(96 + n), 'fact', false, timestamptz '2026-01-01', '[1,0]'::vector"
        " FROM generate_series(1, 26) AS n",
    )
    order = await find(client, limit=26, **mode)
    async with plugin.pool_connection(migrated) as connection:
        by_id = await connection.fetch("SELECT content FROM memory_records ORDER BY id")
    assert order == [row["content"] for row in by_id]
    for limit in (1, 7, 25, 26):
        assert await find(client, limit=limit, **mode) == order[:limit]


@pytest.mark.parametrize("mode", MODES, ids=MODE_NAMES)
async def test_kinds_are_a_filter_also_when_other_kinds_are_many(
    migrated: str, client: MemoryClient, mode: dict[str, object]
) -> None:
    await insert(
        migrated,
        "SELECT 'word ' || n, CASE n WHEN 1999 THEN 'summary' WHEN 2000 THEN 'checkpoint'"
        " ELSE 'fact' END, false, now() - n * interval '1 hour', '[1,0]'::vector"
        " FROM generate_series(1, 2000) AS n",
    )
    assert await find(client, kinds=["summary"], **mode) == ["word 1999"]
    both = await find(client, kinds=["checkpoint", "summary", "summary"], **mode)
    assert both == ["word 1999", "word 2000"]
    assert len(await find(client, kinds=[], **mode)) == 20


@pytest.mark.parametrize("mode", MODES, ids=MODE_NAMES)
async def test_what_has_expired_is_not_found(
    migrated: str, client: MemoryClient, mode: dict[str, object]
) -> None:
    await insert(
        migrated,
        "SELECT 'word ' || n, 'fact', n = 1, now(), '[1,0]'::vector"
        " FROM generate_series(1, 4) AS n",
    )
    async with plugin.pool_connection(migrated) as connection:
        await connection.execute(
            "UPDATE memory_records SET expires_at = now() - interval '1 second'"
            " WHERE content IN ('word 1', 'word 2')"
        )
        assert sorted(await find(client, **mode)) == ["word 3", "word 4"]
        await connection.execute("UPDATE memory_namespaces SET expires_at = now()")
        assert await find(client, **mode) == []


@pytest.mark.parametrize("mode", MODES, ids=MODE_NAMES)
async def test_names_count_once_and_unknown_names_contribute_nothing(
    migrated: str, client: MemoryClient, mode: dict[str, object]
) -> None:
    await insert(migrated, "SELECT 'word', 'fact', false, now(), '[1,0]'::vector")
    assert await find(client, namespaces=[HOME, HOME, "workspace:unknown"], **mode) == ["word"]
    assert await find(client, namespaces=["workspace:unknown"], **mode) == []


@pytest.mark.parametrize("mode", MODES, ids=MODE_NAMES)
async def test_a_thousand_namespaces_are_searched_at_once(
    migrated: str, client: MemoryClient, mode: dict[str, object]
) -> None:
    async with plugin.pool_connection(migrated) as connection:
        await connection.execute(
            "INSERT INTO memory_namespaces (name, kind)"
            " SELECT 'workspace:' || n, 'workspace' FROM generate_series(1, 1000) AS n"
        )
        await connection.execute(
            "INSERT INTO memory_records (namespace, content, kind, source, created_at, embedding)"
            " SELECT 'workspace:' || n, 'word ' || n, 'fact', 'agent',"
            " now() - n * interval '1 hour', '[1,0]' FROM generate_series(1, 1000) AS n"
        )
    names = [f"workspace:{n}" for n in range(1, 1001)]
    found = await find(client, namespaces=names, limit=3, **mode)
    assert found == ["word 1", "word 2", "word 3"]


@pytest.mark.parametrize("mode", MODES, ids=MODE_NAMES)
async def test_one_of_many_namespaces_may_fill_the_whole_answer(
    migrated: str, client: MemoryClient, mode: dict[str, object]
) -> None:
    await insert(
        migrated,
        "SELECT 'word ' || n, 'fact', false, now() - n * interval '1 hour', '[1,0]'::vector"
        " FROM generate_series(1, 120) AS n",
    )
    async with plugin.pool_connection(migrated) as connection:
        await connection.execute(
            "INSERT INTO memory_namespaces (name, kind)"
            " SELECT 'workspace:' || n, 'workspace' FROM generate_series(1, 300) AS n"
        )
    names = [HOME, *(f"workspace:{n}" for n in range(1, 301))]
    found = await find(client, namespaces=names, limit=100, **mode)
    assert found == [f"word {n}" for n in range(1, 101)]


@pytest.mark.parametrize("mode", MODES, ids=MODE_NAMES)
async def test_two_namespaces_with_the_same_mark_do_not_mix(
    migrated: str, client: MemoryClient, mode: dict[str, object]
) -> None:
    async with plugin.pool_connection(migrated) as connection:
        twins = await connection.fetchval(
            "SELECT array_agg(name) FROM (SELECT 'workspace:' || n AS name"
            " FROM generate_series(1, 20000) AS n) AS given"
            " GROUP BY search_mark(name) HAVING count(*) > 1 LIMIT 1"
        )
    for name in twins:
        await client.put_namespace(name, NamespaceUpsert(kind="workspace"))
        memory = MemoryWrite(
            content=f"word {name}", kind="fact", source="agent", embedding=[1.0, 0.0]
        )
        await client.write(name, memory)
    assert await find(client, namespaces=twins[:1], **mode) == [f"word {twins[0]}"]


async def test_a_common_word_in_a_large_namespace_finds_the_newest(
    migrated: str, client: MemoryClient
) -> None:
    await insert(
        migrated,
        "SELECT 'word ' || n, 'fact', false, now() - (5000 - n) * interval '1 hour', NULL::vector"
        " FROM generate_series(1, 5000) AS n",
    )
    assert await find(client, query="word", limit=3) == ["word 5000", "word 4999", "word 4998"]
    assert await find(client, query="wo", limit=2) == ["word 5000", "word 4999"]


async def test_a_rare_word_is_found_however_many_memories_have_the_common_one(
    migrated: str, client: MemoryClient
) -> None:
    await insert(
        migrated,
        "SELECT CASE n WHEN 1 THEN 'walrus' ELSE 'common ' || n END, 'fact', false,"
        " now() + n * interval '1 hour', NULL::vector FROM generate_series(1, 5000) AS n",
    )
    assert (await find(client, query="common walrus"))[0] == "walrus"


async def test_a_write_is_found_at_once(client: MemoryClient) -> None:
    await client.put_namespace(HOME, NamespaceUpsert(kind="workspace"))
    for place in range(20):
        memory = MemoryWrite(
            content=f"word{place}", kind="fact", source="agent", embedding=[1.0, float(place)]
        )
        await client.write(HOME, memory)
        assert await find(client, query=f"word{place}") == [f"word{place}"]
        assert await find(client, embedding=[1.0, float(place)], limit=1) == [f"word{place}"]
        assert (await find(client))[0] == f"word{place}"


async def test_a_replaced_memory_is_found_by_its_new_words_only(client: MemoryClient) -> None:
    await client.put_namespace(HOME, NamespaceUpsert(kind="workspace"))
    first = MemoryWrite(content="walrus", kind="fact", source="agent")
    written = await client.write(HOME, first, supply_id=True)
    again = MemoryWrite(id=written.id, content="penguin", kind="fact", source="agent", pin=True)
    await client.write(HOME, again)
    assert await find(client, query="walrus") == []
    assert await find(client, query="penguin") == ["penguin"]


async def test_everything_but_embeddings_works_without_pgvector(
    monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    async def missing(_: asyncpg.Connection) -> bool:
        return False

    monkeypatch.setattr("plugin_postgres.pgvector.ensure", missing)
    async with plugin.without_pgvector(database) as client:
        await client.put_namespace(HOME, NamespaceUpsert(kind="workspace"))
        memory = MemoryWrite(content="walrus", kind="fact", source="agent", embedding=[1.0])
        await client.write(HOME, memory)
        for mode in ({}, {"query": "walrus"}, {"embedding": [1.0]}):
            assert await find(client, **mode) == ["walrus"]
        both = await find(client, query="walrus", embedding=[1.0])
        assert both == ["walrus"]


@pytest.mark.parametrize(
    "texts",
    [
        ["plan a", "plan b", "plan k"],
        ["run migrations before deploy", "run migrations after deploy"],
        ["the flag is not enabled", "the flag is enabled"],
        ["do not deploy", "do deploy"],
        ["i can deploy", "i cannot deploy"],
        ["on switch", "off switch"],
        ["my key", "your key"],
        ["all users", "no users"],
    ],
    ids=lambda texts: texts[0],
)
async def test_of_texts_that_differ_in_a_function_word_the_one_asked_for_is_first(
    client: MemoryClient, texts: list[str]
) -> None:
    await client.put_namespace(HOME, NamespaceUpsert(kind="workspace"))
    for text in texts:
        await client.write(HOME, MemoryWrite(content=text, kind="fact", source="user"))
    for text in texts:
        assert (await find(client, query=text.title()))[0] == text
        assert (await find(client, query=text, limit=1)) == [text]
