"""Writers of one conversation, and a deletion, wait in line and never for each other."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from uuid import UUID

import asyncpg
import pytest

from conversations.access import Access, Caller, Level
from conversations.appends import append_in
from conversations.calls import Call
from conversations.directory import Directory
from conversations.drafts import user_draft
from conversations.fields import Fields
from conversations.settings import Settings
from conversations.statements import SCHEMA, SESSION, load
from conversations.text_postgres import PostgresText
from postgres.database import Database
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

Connect = Callable[[], Awaitable[asyncpg.Connection]]

TALK = """
WITH home AS (
    INSERT INTO groups (id, owner_user_id) VALUES ($2, 'alice') RETURNING id
),
member AS (
    INSERT INTO memberships (group_id, user_id, level) SELECT id, 'alice', 4 FROM home
)
INSERT INTO conversations (id, group_id, owner_user_id, created_at, updated_at, last_at)
SELECT $1, id, 'alice', now(), now(), now() FROM home
"""


@pytest.fixture
async def connect(database: str) -> AsyncIterator[Connect]:
    """Makes connections to a migrated database."""
    async with AsyncExitStack() as stack:

        async def connect() -> asyncpg.Connection:
            connection = await asyncpg.connect(database)
            stack.callback(connection.terminate)
            await SCHEMA.migrate(connection)
            await connection.execute("SET search_path = memory_conversations")
            return connection

        yield connect


async def talk(connection: asyncpg.Connection) -> tuple[UUID, UUID]:
    """A conversation with one message, and that message."""
    conversation = uuid.uuid4()
    await connection.execute(TALK, conversation, uuid.uuid4())
    return conversation, await say(connection, conversation)


async def say(connection: asyncpg.Connection, conversation: UUID) -> UUID:
    draft = user_draft(Fields({"content": "hello"}), "alice")
    await append_in(connection, conversation, [draft])
    return draft.id


async def blocked(watch: asyncpg.Connection, connection: asyncpg.Connection) -> list[int]:
    """The processes that this connection waits for."""
    found: list[int] = await watch.fetchval(
        "SELECT pg_blocking_pids($1)", connection.get_server_pid()
    )
    return found


async def runs_or_waits(
    watch: asyncpg.Connection, connection: asyncpg.Connection, task: "asyncio.Task[object]"
) -> None:
    async def is_so() -> bool:
        return task.done() or bool(await blocked(watch, connection))

    await eventually(is_so)


async def test_appends_and_forks_of_one_conversation_wait_in_line(connect: Connect) -> None:
    watch, first, fork, second, third = [await connect() for _ in range(5)]
    conversation, message = await talk(watch)

    async def forks() -> None:
        await fork.fetchrow(
            load("fork_conversation"), uuid.uuid4(), conversation, conversation, message, 1,
            None, None, "", None,
        )  # fmt: skip

    began, forking = first.transaction(), fork.transaction()
    await began.start()
    await say(first, conversation)
    await forking.start()
    forked = asyncio.create_task(forks())
    await runs_or_waits(watch, fork, forked)
    # Both of these have read the version of the row that the first append replaces.
    appended = asyncio.create_task(say(second, conversation))
    await runs_or_waits(watch, second, appended)
    locked = asyncio.create_task(third.fetchrow(load("lock_conversation"), conversation))
    await runs_or_waits(watch, third, locked)
    await began.commit()

    # They may wait for the fork, which is not over yet.
    await forked

    async def is_next() -> bool:
        waits_for_fork = fork.get_server_pid() in await blocked(watch, second)
        return waits_for_fork or appended.done()

    await eventually(is_next)
    await forking.commit()
    await asyncio.gather(appended, locked)
    assert await watch.fetchval("SELECT count(*) FROM messages") == 3
    assert await watch.fetchval("SELECT count(*) FROM conversations") == 2


async def test_a_deletion_and_the_words_of_its_messages_wait_in_line(
    connect: Connect, database: str
) -> None:
    watch, other, words = [await connect() for _ in range(3)]
    _, elsewhere = await talk(watch)
    conversation, message = await talk(watch)
    settings = Settings(database_url=database, plugin_url="http://127.0.0.1:9", dev_auth=True)
    store = Database(settings, name="deletion", search_path=SCHEMA.name, session=SESSION)

    async def delete() -> None:
        access = Access(store)
        grant = await access.enter(Caller("alice"), str(conversation), Level.MANAGER)
        scope = {"query_string": b""}
        call = Call(scope, _nothing, Caller("alice"), access, Level.MANAGER, grant)
        await Directory(store, access, PostgresText(store)).delete(call)

    # The words wait for a message that has nothing to do with the deletion.
    holding = other.transaction()
    await holding.start()
    await other.execute("SELECT FROM messages WHERE id = $1 FOR UPDATE", elsewhere)
    add_words = load("add_words", leave_out="of-user")
    added = asyncio.create_task(words.execute(add_words, 100, 1_000_000))
    await runs_or_waits(watch, words, added)
    deleted = asyncio.create_task(delete())

    async def waits_for_words() -> bool:
        return deleted.done() or bool(
            await watch.fetchval(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE application_name = 'deletion' AND $1 = ANY(pg_blocking_pids(pid))",
                words.get_server_pid(),
            )
        )

    try:
        await eventually(waits_for_words)
        await holding.rollback()
        await asyncio.gather(added, deleted)
    finally:
        await store.close()
    assert await watch.fetch("SELECT id FROM messages WHERE id = $1", message) == []
    kept = await watch.fetch("SELECT message_id FROM words")
    assert [row["message_id"] for row in kept] == [elsewhere]


async def _nothing() -> dict[str, object]:
    return {"type": "http.request", "body": b""}
