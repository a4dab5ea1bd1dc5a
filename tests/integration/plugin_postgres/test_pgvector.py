"""pgvector may come while the plugin runs: no restart is needed, and no request fails."""

import asyncio

import asyncpg
import pytest

from contract import MemoryWrite, NamespaceUpsert, SearchRequest
from plugin_postgres.schema import SCHEMA
from tests.integration.plugin_postgres import plugin
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

HOME = "workspace:home"
MEMORY = MemoryWrite(content="walrus", kind="fact", source="agent", embedding=[1.0, 0.0])
NEWEST = SearchRequest(namespaces=[HOME])
NEAREST = SearchRequest(namespaces=[HOME], embedding=[1.0, 0.0])


async def _is_missing(_: asyncpg.Connection) -> bool:
    return False


async def test_embeddings_are_served_as_soon_as_pgvector_is_there(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = await asyncpg.connect(database)
    with monkeypatch.context() as patch:
        patch.setattr("plugin_postgres.pgvector.ensure", _is_missing)
        await SCHEMA.migrate(connection)
    async with plugin.memory_client(database, statement_timeout=60) as client:

        async def embeds() -> bool:
            return "embedding" in (await client.health()).capabilities

        await client.put_namespace(HOME, NamespaceUpsert(kind="workspace"))
        assert not await embeds()
        await SCHEMA.migrate(connection)
        async with connection.transaction():
            # Two searches that have to wait need two connections: the old one, and a new one.
            await connection.execute("LOCK TABLE memory_plugin.memory_namespaces")
            waiting = asyncio.gather(client.search(NEWEST), client.search(NEWEST))
            await eventually(embeds)
        await waiting
        await connection.close()
        await client.write(HOME, MEMORY)
        for answer in await asyncio.gather(*(client.search(NEAREST) for _ in range(4))):
            assert [memory.content for memory in answer.memories] == ["walrus"]
