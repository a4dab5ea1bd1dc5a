"""Search by embedding and by words and embedding together."""

import math
import random

import asyncpg
import pytest

from contract import Memory, MemoryClient, MemoryWrite, NamespaceUpsert, SearchRequest
from plugin_postgres import vectors
from plugin_postgres.database import Database
from plugin_postgres.indexer import Indexer
from plugin_postgres.settings import Settings
from tests import timeouts
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

HOME = "workspace:vectors"


async def write(client: MemoryClient, content: str, embedding: list[float] | None) -> None:
    await client.put_namespace(HOME, NamespaceUpsert(kind="workspace"))
    memory = MemoryWrite(content=content, kind="fact", source="agent", embedding=embedding)
    await client.write(HOME, memory)


async def find(client: MemoryClient, **fields: object) -> list[Memory]:
    request = SearchRequest.model_validate({"namespaces": [HOME], **fields})
    return (await client.search(request)).memories


async def test_the_closest_direction_comes_first_and_the_score_is_the_cosine(
    client: MemoryClient,
) -> None:
    for content, angle in (("east", 0), ("north", 90), ("west", 180), ("north-east", 45)):
        radians = math.radians(angle)
        await write(client, content, [7 * math.cos(radians), 7 * math.sin(radians)])
    found = await find(client, embedding=[2.0, 0.0])
    assert [memory.content for memory in found] == ["east", "north-east", "north", "west"]
    expected = [1, math.sqrt(0.5), 0, -1]
    assert [memory.score for memory in found] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("dimension", [1, 2, 1536, 2001, 4001, 16_000])
async def test_any_dimension_up_to_16000_is_found_among_others(
    client: MemoryClient, dimension: int
) -> None:
    for other in (1, 3, dimension, dimension + 1 if dimension < 16_000 else 4):
        await write(client, f"{other}", [1.0] * (other - 1) + [2.0])
    found = await find(client, embedding=[1.0] * (dimension - 1) + [2.0])
    assert {memory.content for memory in found} == {str(dimension)}
    assert found[0].score == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("dimension", [3, 16_000, 16_001, 40_000])
async def test_a_dimension_that_no_memory_has_finds_nothing(
    client: MemoryClient, dimension: int
) -> None:
    await write(client, "walrus", [1.0, 2.0])
    assert await find(client, embedding=[1.0] * dimension) == []
    [memory] = await find(client, embedding=[1.0] * dimension, query="walrus")
    assert memory.content == "walrus"


@pytest.mark.parametrize("length", [0.0, 1e-44, 1e-30, 1e30, 3e38])
async def test_length_is_ignored_and_zero_has_no_direction(
    client: MemoryClient, length: float
) -> None:
    await write(client, "east", [length, 0.0])
    await write(client, "north", [0.0, 1.0])
    found = {memory.content: memory.score for memory in await find(client, embedding=[1.0, 0.0])}
    assert found["north"] == pytest.approx(0, abs=1e-5)
    assert found["east"] == pytest.approx(1 if length else 0, abs=1e-5)
    for score in [memory.score for memory in await find(client, embedding=[length, length])]:
        assert score is not None
        assert math.isfinite(score)


async def test_memories_without_an_embedding_are_not_compared(client: MemoryClient) -> None:
    await write(client, "bare", None)
    await write(client, "embedded", [1.0, 1.0])
    assert [memory.content for memory in await find(client, embedding=[1.0, 0.0])] == ["embedded"]


async def test_words_and_embedding_together_put_first_what_is_high_in_both(
    client: MemoryClient,
) -> None:
    await write(client, "walrus on the beach", [0.0, 1.0])
    await write(client, "walrus in the water", [0.9, 0.1])
    await write(client, "penguin in the water", [1.0, 0.0])
    await write(client, "unrelated", None)
    found = await find(client, query="walrus", embedding=[1.0, 0.0])
    assert found[0].content == "walrus in the water"
    assert {memory.content for memory in found[1:]} == {
        "walrus on the beach",
        "penguin in the water",
    }
    scores = [memory.score or 0 for memory in found]
    assert scores == sorted(scores, reverse=True)
    # All of the words, and nearly all of the likeness.
    assert 0.99 < scores[0] < 1


async def test_if_one_of_the_two_finds_nothing_the_other_still_counts(
    client: MemoryClient,
) -> None:
    await write(client, "walrus", [1.0, 0.0])
    for fields in (
        {"query": "zzz", "embedding": [1.0, 0.0]},
        {"query": "walrus", "embedding": [1.0, 0.0, 0.0]},
    ):
        assert [memory.content for memory in await find(client, **fields)] == ["walrus"]


@pytest.fixture
async def crowd(migrated: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database where 500 embeddings are many: 10 namespaces with 200 embeddings each."""
    monkeypatch.setattr(vectors, "_MANY", 500)
    generator = random.Random(7)
    async with plugin.pool_connection(migrated) as connection:
        await connection.execute(
            "INSERT INTO memory_namespaces (name, kind)"
            " SELECT 'workspace:' || n, 'workspace' FROM generate_series(0, 9) AS n"
        )
        await connection.executemany(
            "INSERT INTO memory_records (namespace, content, kind, source, embedding)"
            " VALUES ($1, $2, $3, 'agent', $4::vector)",
            [
                (
                    f"workspace:{place % 10}",
                    f"memory {place}",
                    "summary" if place % 100 == 0 else "fact",
                    [generator.gauss(0, 1) for _ in range(8)],
                )
                for place in range(2000)
            ],
        )
    return migrated


async def test_many_embeddings_are_indexed_once_and_then_found_by_the_index(crowd: str) -> None:
    settings = Settings(database_url=crowd, **timeouts.LIMITS)
    database = Database(settings)
    await database.open()
    indexer = Indexer(database, settings)
    connection = await asyncpg.connect(crowd)
    try:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        assert await indexer.build_when_calm() == []  # it has not seen yet that writing is calm
        assert await indexer.build_when_calm() == [8]
        assert await indexer.build_when_calm() == []
    finally:
        await connection.close()
        await database.close()
    async with plugin.memory_client(crowd) as client:
        for namespaces in (["workspace:3"], [f"workspace:{n}" for n in range(10)]):
            await _same_as_exact(client, crowd, namespaces)


async def test_an_index_that_was_left_incomplete_is_rebuilt(crowd: str) -> None:
    async with plugin.pool_connection(crowd) as connection:
        await connection.execute(
            "CREATE INDEX memory_records_embedding_8 ON memory_records"
            " USING hnsw ((embedding::halfvec(8)) halfvec_cosine_ops)"
            " WHERE (dimension = 8) IS TRUE"
        )
        await connection.execute(
            "UPDATE pg_index SET indisvalid = false"
            " WHERE indexrelid = 'memory_records_embedding_8'::regclass"
        )
        assert await vectors.build_indexes(connection) == [8]
        assert await vectors.build_indexes(connection) == []


async def test_a_filter_that_rejects_nearly_all_still_fills_the_answer(crowd: str) -> None:
    async with plugin.pool_connection(crowd) as connection:
        await vectors.build_indexes(connection)
    everywhere = [f"workspace:{n}" for n in range(10)]
    async with plugin.memory_client(crowd) as client:
        found = await find(
            client, namespaces=everywhere, kinds=["summary"], embedding=[1.0] + [0.0] * 7
        )
    assert len(found) == 20


@pytest.mark.parametrize("one_by_one", [20_000, 5], ids=["one by one", "by the index"])
async def test_a_selective_filter_finds_every_match_in_order(
    crowd: str, monkeypatch: pytest.MonkeyPatch, one_by_one: int
) -> None:
    monkeypatch.setattr(vectors, "_ONE_BY_ONE", one_by_one)
    vectors._for_dimension.cache_clear()
    everywhere = [f"workspace:{n}" for n in range(10)]
    generator = random.Random(9)
    async with plugin.pool_connection(crowd) as connection:
        await vectors.build_indexes(connection)
        await connection.execute(
            "UPDATE memory_records SET propagation = jsonb_build_object('owner', 'ann')"
            " WHERE split_part(content, ' ', 2)::integer % 133 = 0"
        )
        async with plugin.memory_client(crowd) as client:
            for _ in range(5):
                asked = [generator.gauss(0, 1) for _ in range(8)]
                exact = await connection.fetch(
                    "SELECT content FROM memory_records WHERE propagation IS NOT NULL"
                    " ORDER BY embedding <=> $1::vector",
                    asked,
                )
                found = await find(
                    client,
                    namespaces=everywhere,
                    where={"owner": "ann"},
                    embedding=asked,
                    limit=50,
                )
                assert len(exact) == 16
                assert [memory.content for memory in found] == [row["content"] for row in exact]
    vectors._for_dimension.cache_clear()


async def _same_as_exact(client: MemoryClient, url: str, namespaces: list[str]) -> None:
    generator = random.Random(8)
    async with plugin.pool_connection(url) as connection:
        for _ in range(5):
            asked = [generator.gauss(0, 1) for _ in range(8)]
            exact = await connection.fetch(
                "SELECT content FROM memory_records WHERE namespace = ANY($1)"
                " ORDER BY embedding <=> $2::vector LIMIT 10",
                namespaces,
                asked,
            )
            found = await find(client, namespaces=namespaces, embedding=asked, limit=10)
            assert [memory.content for memory in found] == [row["content"] for row in exact]
