"""A search over more conversations than the plugin takes in one request."""

import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest
from starlette.types import Message

from contract import MemoryClient, MemoryWrite, NamespaceUpsert
from conversations.access import Access, Caller, Level
from conversations.calls import Call
from conversations.embeddings import Embeddings
from conversations.index import namespace_of
from conversations.search import Search
from conversations.settings import Settings
from conversations.statements import SCHEMA, SESSION
from postgres.database import Database
from serving.metrics import Metrics
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

# One more than two requests of the smaller size name.
GROUPS = 2001
FILL = f"""
INSERT INTO groups (id, owner_user_id)
SELECT md5('group' || n)::uuid, 'alice' FROM generate_series(1, {GROUPS}) AS n;
INSERT INTO memberships (group_id, user_id, level) SELECT id, 'alice', 4 FROM groups;
INSERT INTO conversations (id, group_id, owner_user_id, created_at, updated_at, last_at)
SELECT md5('talk')::uuid, md5('group2001')::uuid, 'alice', now(), now(), now();
INSERT INTO messages (
    id, conversation_id, group_id, sequence, role, channel, visibility, content, is_list, created_at
)
SELECT
    md5('message')::uuid, md5('talk')::uuid, md5('group2001')::uuid, 1, 'user', 'HISTORY', 'user',
    'a heron', false, now();
"""


@pytest.fixture
async def connection(migrated: str) -> AsyncIterator[asyncpg.Connection]:
    connected = await asyncpg.connect(migrated)
    await SCHEMA.migrate(connected)
    await connected.execute("SET search_path = memory_conversations")
    await connected.execute(FILL)
    yield connected
    await connected.close()


class Counting(MemoryClient):
    """Notes how many namespaces each search names."""

    named: list[int]

    async def search_bytes(self, request: Any, **others: Any) -> bytes:
        self.named.append(len(request.namespaces))
        return await super().search_bytes(request, **others)


async def test_a_plugin_that_takes_fewer_is_asked_in_parts_from_then_on(
    connection: asyncpg.Connection, migrated: str
) -> None:
    settings = Settings(database_url=migrated, plugin_url="http://127.0.0.1:9", dev_auth=True)
    database = Database(settings, name="test", search_path=SCHEMA.name, session=SESSION)
    row = await connection.fetchrow("SELECT group_id, id FROM messages")
    assert row is not None

    async def receive() -> Message:
        return {"type": "http.request", "body": json.dumps({"query": "heron"}).encode()}

    async with (
        plugin.serving(migrated, max_namespaces=1000) as app,
        Counting("http://plugin", attempts=1, transport=httpx.ASGITransport(app)) as client,
    ):
        client.named = []
        await client.put_namespace(namespace_of(row["group_id"]), NamespaceUpsert(kind="custom"))
        await client.write(
            namespace_of(row["group_id"]),
            MemoryWrite(id=row["id"], content="a heron", kind="fact", source="user"),
        )
        search = Search(database, client, Embeddings(settings, Metrics("test")))
        for named in ([2001, 1000, 1000, 1], [1000, 1000, 1]):
            client.named.clear()
            call = Call({}, receive, Caller("alice"), Access(database), Level.READER)
            answer = json.loads(bytes((await search.search(call)).body))
            assert answer["backend"] == "plugin"
            assert [it["message"]["content"] for it in answer["data"]] == ["a heron"]
            assert client.named == named
    await database.close()
