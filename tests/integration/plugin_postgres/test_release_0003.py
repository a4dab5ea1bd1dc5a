"""A rolling upgrade: the release that ends with migration 0003 still serves today's schema.

`release_0003/` has its statements as it sends them, for embeddings of three numbers.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from contract import MemoryClient, MemoryWrite, NamespaceUpsert, SearchRequest
from plugin_postgres import pgvector
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

STATEMENTS = Path(__file__).parent / "release_0003"
HOME = "workspace:rolling"
NOWHERE = UUID(int=0)


def statement(name: str) -> str:
    return (STATEMENTS / f"{name}.sql").read_text("utf-8")


class OlderRelease:
    """Writes and reads with the statements of the older release."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def write(self, content: str, embedding: list[float] | None = None) -> UUID:
        key = uuid4()
        written = await self._connection.fetch(
            statement("write_memories"),
            *([value] for value in (key, HOME, content, "fact", "agent", None, None, False, None)),
            [None if embedding is None else pgvector.encode(embedding)],
        )
        assert [row["id"] for row in written] == [key]
        return key

    async def find(self, name: str, *asked: object) -> list[str]:
        rows = await self._connection.fetch(statement(name), [HOME], None, 10, *asked)
        return [row["content"] for row in rows]

    async def listed(self) -> set[str]:
        rows = await self._connection.fetch(
            statement("list_memories"), [HOME], NOWHERE, 100, 1_000_000
        )
        return {row["content"] for row in rows}

    async def forget(self, key: UUID) -> bool:
        row = await self._connection.fetchrow(statement("forget_memory"), key, HOME)
        assert row is not None
        return bool(row["deleted"])


@pytest.fixture
async def older(migrated: str, client: MemoryClient) -> AsyncIterator[OlderRelease]:
    await client.put_namespace(HOME, NamespaceUpsert(kind="workspace"))
    async with plugin.pool_connection(migrated) as connection:
        yield OlderRelease(connection)


async def write(client: MemoryClient, content: str, embedding: list[float] | None = None) -> None:
    memory = MemoryWrite(content=content, kind="fact", source="agent", embedding=embedding)
    await client.write(HOME, memory)


async def found_now(client: MemoryClient, request: SearchRequest) -> list[str]:
    return [memory.content for memory in (await client.search(request)).memories]


async def test_each_finds_by_words_what_the_other_has_written(
    older: OlderRelease, client: MemoryClient
) -> None:
    await older.write("The older release noted a lighthouse")
    await write(client, "The newer release saw a lighthouse")
    request = SearchRequest(namespaces=[HOME], query="lighthouse")
    both = {"The older release noted a lighthouse", "The newer release saw a lighthouse"}
    assert set(await found_now(client, request)) == both
    assert set(await older.find("search_text", "lighthouse")) == both
    assert await older.listed() == both


@pytest.mark.parametrize("name", ["search_embedding", "search_hybrid"])
async def test_each_finds_by_embedding_what_the_other_has_written(
    older: OlderRelease, client: MemoryClient, name: str
) -> None:
    await older.write("north", [0.0, 1.0, 0.0])
    await write(client, "almost north", [0.1, 0.9, 0.0])
    await write(client, "east", [1.0, 0.0, 0.0])
    asked = ["north"] if name == "search_hybrid" else []
    assert (await older.find(name, *asked, [0.0, 1.0, 0.0]))[:2] == ["north", "almost north"]
    request = SearchRequest(namespaces=[HOME], embedding=[0.0, 1.0, 0.0])
    assert await found_now(client, request) == ["north", "almost north", "east"]


async def test_what_the_older_release_forgets_is_gone_for_the_newer(
    older: OlderRelease, client: MemoryClient
) -> None:
    key = await older.write("a secret lighthouse")
    assert await older.forget(key)
    assert await found_now(client, SearchRequest(namespaces=[HOME], query="lighthouse")) == []
    assert await older.listed() == set()
