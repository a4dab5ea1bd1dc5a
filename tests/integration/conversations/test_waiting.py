"""The plugin is away and more waits than a search looks at one by one, in number or in length."""

import asyncio
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
from conversations.statements import SCHEMA, SESSION, load
from postgres.database import Database
from serving.metrics import Metrics
from tests.waiting import SECONDS

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


async def results(url: str, query: str) -> list[dict[str, Any]]:
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
    found: list[dict[str, Any]] = answer["data"]
    return found


async def found(url: str, query: str) -> list[dict[str, Any]]:
    return [result["message"] for result in await results(url, query)]


async def test_a_search_ends_although_the_user_keeps_appending(
    connection: asyncpg.Connection, database: str
) -> None:
    await connection.execute("SELECT say(1, 1, 'heron ')")
    await connection.execute("SELECT say(2, $1, 'sparrow ')", WAITING)
    await connection.execute(GOES_ON.format(at_most=AT_MOST))
    # The oldest is found, and only what waited when the search began got its words for it.
    assert [message["sequence"] for message in await found(database, "heron")] == [1]
    assert await connection.fetchval("SELECT count(*) FROM words") == WAITING


LONG = 300_000


async def test_words_of_long_messages_are_added_a_few_at_a_time(
    connection: asyncpg.Connection,
) -> None:
    """So that no statement takes longer than it may, however many wait."""
    await connection.execute("SELECT say(1, 9, repeat('heron ', $1))", LONG // 6)
    added: list[str] = []
    while not added or added[-1] != "UPDATE 0":
        added.append(
            await connection.execute(load("add_words", leave_out="of-user"), 500, 2 * LONG)
        )
    assert added == ["UPDATE 2", "UPDATE 2", "UPDATE 2", "UPDATE 2", "UPDATE 1", "UPDATE 0"]
    assert await connection.fetchval("SELECT count(*) FROM words") == 9


async def test_long_messages_that_wait_are_found(
    connection: asyncpg.Connection, database: str
) -> None:
    await connection.execute("SELECT say(1, 9, 'heron ' || repeat('wren ', $1))", LONG // 5)
    await connection.execute("SELECT say(10, 10, 'sparrow ')")
    assert [message["sequence"] for message in await found(database, "sparrow")] == [10]
    # Together, they were too long to be searched one by one.
    assert await connection.fetchval("SELECT count(*) FROM words") == 10


async def test_a_long_text_without_words_holds_nothing_up(
    connection: asyncpg.Connection, database: str
) -> None:
    await connection.execute("SELECT say(1, 1, repeat('- ', $1))", LONG)
    await connection.execute("UPDATE messages SET content = repeat('- ', $1)", LONG)
    await connection.execute("SELECT say(2, 2, 'heron ')")
    async with asyncio.timeout(SECONDS):
        assert [message["sequence"] for message in await found(database, "heron")] == [2]
        await connection.execute(load("add_words", leave_out="of-user"), 500, 10 * LONG)
    assert await connection.fetchval("SELECT count(*) FROM words") == 2


async def test_every_result_has_its_own_excerpt_however_long_they_are_together(
    connection: asyncpg.Connection, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conversations.search._AT_ONCE", 15)
    await connection.execute("SELECT say(1, 5, 'heron ')")
    excerpts = {
        result["message"]["sequence"]: result["highlights"]
        for result in await results(database, "heron")
    }
    assert excerpts == {number: f"**heron** {number}" for number in range(1, 6)}
