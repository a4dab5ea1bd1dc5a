"""The plugin is away and more messages wait than a search looks at one by one."""

import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from starlette.types import Message

from contract import MemoryClient
from conversations.access import Access, Caller, Level
from conversations.calls import Call
from conversations.embeddings import Embeddings
from conversations.search import Search
from conversations.settings import Settings
from conversations.statements import SCHEMA, SESSION
from postgres.database import Database
from serving.metrics import Metrics

pytestmark = pytest.mark.anyio

WAITING = 5600
AT_MOST = 12_000

FILL = """
INSERT INTO groups (id, owner_user_id) VALUES (md5('home')::uuid, 'alice');
INSERT INTO memberships (group_id, user_id, level) VALUES (md5('home')::uuid, 'alice', 4);
INSERT INTO conversations (id, group_id, owner_user_id, created_at, updated_at, last_at)
VALUES (md5('talk')::uuid, md5('home')::uuid, 'alice', now(), now(), now());

CREATE FUNCTION say(first integer, last integer, words text) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO messages (
        id, conversation_id, group_id, sequence, role, channel, visibility, content, is_list,
        created_at
    )
    SELECT
        md5(number::text)::uuid, md5('talk')::uuid, md5('home')::uuid, number, 'user', 'HISTORY',
        'user', words || number, false, now()
    FROM generate_series(first, last) AS number;
    INSERT INTO outbox (action, group_id, message_id)
    SELECT 'write', md5('home')::uuid, md5(number::text)::uuid
    FROM generate_series(first, last) AS number
$$;
"""

# Whenever words are added, the user has appended as many messages again.
GOES_ON = """
CREATE FUNCTION go_on() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    there integer := (SELECT count(*) FROM messages);
BEGIN
    IF there < {at_most} THEN
        PERFORM say(there + 1, there + 500, 'later ');
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER go_on AFTER INSERT ON words FOR EACH STATEMENT EXECUTE FUNCTION go_on();
"""


@pytest.fixture
async def connection(database: str) -> AsyncIterator[asyncpg.Connection]:
    connected = await asyncpg.connect(database)
    await SCHEMA.migrate(connected)
    await connected.execute("SET search_path = memory_conversations")
    await connected.execute(FILL)
    yield connected
    await connected.close()


async def found(url: str, query: str) -> list[dict[str, Any]]:
    """What alice finds. Nothing else takes from the outbox: the background work does not run."""
    settings = Settings(database_url=url, plugin_url="http://127.0.0.1:9", dev_auth=True)
    database = Database(settings, name="test", search_path=SCHEMA.name, session=SESSION)
    plugin = MemoryClient(settings.plugin_url)

    async def receive() -> Message:
        return {"type": "http.request", "body": json.dumps({"query": query}).encode()}

    call = Call({}, receive, Caller("alice"), Access(database), Level.READER)
    try:
        search = Search(database, plugin, Embeddings(settings, Metrics("test")))
        answer = json.loads(bytes((await search.search(call)).body))
    finally:
        await plugin.aclose()
        await database.close()
    assert answer["backend"] == "postgres"
    return [result["message"] for result in answer["data"]]


async def test_a_search_ends_although_the_user_keeps_appending(
    connection: asyncpg.Connection, database: str
) -> None:
    await connection.execute("SELECT say(1, 1, 'heron ')")
    await connection.execute("SELECT say(2, $1, 'sparrow ')", WAITING)
    await connection.execute(GOES_ON.format(at_most=AT_MOST))
    # The oldest is found, and only what waited when the search began got its words for it.
    assert [message["sequence"] for message in await found(database, "heron")] == [1]
    assert await connection.fetchval("SELECT count(*) FROM words") == WAITING
