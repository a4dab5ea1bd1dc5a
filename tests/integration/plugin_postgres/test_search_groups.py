"""A search over 300 namespaces finds what searches over ten of them at a time find together."""

import math
import random
from typing import Any

import pytest

from contract import MemoryClient, SearchRequest, SearchResponse
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

NAMES = [f"custom:{n}" for n in range(300)]
# Four memories in each; of the words, `lantern` is in 40 memories and `rareN` in one.
ROWS = """
INSERT INTO memory_namespaces (name, kind)
SELECT 'custom:' || n, 'custom' FROM generate_series(0, 299) AS n;
INSERT INTO memory_records (namespace, content, kind, source, created_at, pin, propagation)
SELECT
    'custom:' || n % 300,
    concat_ws(' ', 'The agent noted rare' || n, CASE WHEN n % 30 = 0 THEN 'a lantern' END),
    CASE WHEN n % 5 = 0 THEN 'summary' ELSE 'fact' END,
    'agent', now() - n * interval '1 minute', n = 600, jsonb_build_object('turn', n % 24)
FROM generate_series(1, 1200) AS n;
"""
LIMIT = 50


@pytest.fixture
async def filled(migrated: str) -> str:
    generator = random.Random(11)
    async with plugin.pool_connection(migrated) as connection:
        await connection.execute(ROWS)
        rows = await connection.fetch("SELECT id FROM memory_records")
        await connection.executemany(
            "UPDATE memory_records SET embedding = $2::vector WHERE id = $1",
            [(row["id"], [generator.gauss(0, 1) for _ in range(4)]) for row in rows],
        )
        await connection.execute("ANALYZE memory_records")
    return migrated


async def ask(client: MemoryClient, namespaces: list[str], **fields: Any) -> SearchResponse:
    return await client.search(
        SearchRequest.model_validate({"namespaces": namespaces, "limit": LIMIT, **fields})
    )


@pytest.mark.parametrize(
    ("fields", "matches"),
    [
        ({"query": "lantern"}, 40),
        ({"query": "lantern", "kinds": ["summary"]}, 40),
        ({"query": "rare777"}, 1),
        ({"query": "rare77"}, 11),
        ({"query": "agent", "where": {"turn": 7}}, 50),
        ({"where": {"turn": 7}}, 50),
        ({}, math.inf),
        ({"kinds": ["summary"]}, math.inf),
        ({"embedding": [1.0, 0.0, 0.0, 0.0]}, math.inf),
        ({"embedding": [1.0, 0.0, 0.0, 0.0], "where": {"turn": 7}}, 50),
    ],
    ids=str,
)
async def test_many_at_once_find_what_small_groups_find(
    filled: str, fields: dict[str, Any], matches: float
) -> None:
    async with plugin.memory_client(filled) as client:
        at_once = (await ask(client, NAMES, **fields)).memories
        in_groups = [
            memory
            for start in range(0, len(NAMES), 10)
            for memory in (await ask(client, NAMES[start : start + 10], **fields)).memories
        ]
    # What is worth how much depends on the namespaces that are searched, but not for an embedding.
    if "embedding" in fields:
        in_groups.sort(key=lambda memory: memory.score or 0, reverse=True)
    elif "query" not in fields:
        in_groups.sort(key=lambda memory: (not memory.pin, -memory.created_at.timestamp()))
    assert len(in_groups) == matches or matches is math.inf
    assert len(at_once) == min(LIMIT, len(in_groups))
    if "query" in fields:
        assert {memory.id for memory in at_once} == {memory.id for memory in in_groups}
    else:
        assert [memory.id for memory in at_once] == [memory.id for memory in in_groups[:LIMIT]]
