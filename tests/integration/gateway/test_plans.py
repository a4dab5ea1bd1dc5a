"""What a flush reads and locks in PostgreSQL, however long the chat is; messages are taken once."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from gateway.app import PLANS
from gateway.flush import Flush
from gateway.statements import load
from tests.integration.gateway.people import Person, turn
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


async def test_a_flush_does_not_read_what_earlier_ones_left_in_the_indexes(
    ann: Person, store: str
) -> None:
    for number in range(30):
        await ann.say("chat:long", f"tea number {number}")
    settings = {"search_path": "memory_gateway", **PLANS}
    connection = await asyncpg.connect(store, server_settings=settings)
    try:
        session = await connection.fetchval("SELECT id FROM sessions WHERE name = 'chat:long'")
        nothing: list[list[object]] = [[] for _ in range(10)]
        taken = session, uuid4(), *nothing, [1, 2], datetime.now(UTC)
        added = 0, uuid4(), *nothing, session, b"", [b"", b""]
        read = await connection.fetch(f"EXPLAIN {load('read_session')}", 0, session)
        take = await connection.fetch(f"EXPLAIN {load('take_batch')}", *taken)
        unread = await connection.fetch(f"EXPLAIN {load('take_added')}", *added)
    finally:
        await connection.close()
    for plan in (read, take, unread):
        lines = "\n".join(line for (line,) in plan)
        assert "Index Scan using messages_buffered" in lines
        assert "messages_pkey" not in lines
        assert "Bitmap" not in lines
    assert "Seq Scan" not in "\n".join(line for (line,) in read)


async def test_messages_that_another_flush_took_are_not_taken_again(
    ann: Person, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another flush took them after this one had read, and before it had the lock."""
    await ann.add("chat:twice", *turn("tea"))
    take = Flush._take

    async def late(self: Flush, held: Any, session: Any) -> Any:
        await take(self, held, session)
        return await take(self, held, session)

    monkeypatch.setattr(Flush, "_take", late)
    flushed = await ann.flush("chat:twice")
    assert (flushed["message_count"], flushed["memory_count"]) == (2, 1)
    connection = await asyncpg.connect(store, server_settings={"search_path": "memory_gateway"})
    try:
        of_session = "WHERE session = (SELECT id FROM sessions WHERE name = 'chat:twice')"
        assert await connection.fetchval(f"SELECT count(*) FROM memories {of_session}") == 1
    finally:
        await connection.close()


async def test_a_flush_locks_the_session_before_its_messages_as_a_deletion_does(
    ann: Person, store: str
) -> None:
    await ann.add("chat:order", *turn("tea"))
    settings = {"search_path": "memory_gateway", **PLANS}
    deleting = await asyncpg.connect(store, server_settings=settings)
    taking = await asyncpg.connect(store, server_settings=settings)
    try:
        [row] = await deleting.fetch("SELECT * FROM sessions WHERE name = 'chat:order'")
        numbers = await deleting.fetchval(
            "SELECT array_agg(number) FROM messages WHERE session = $1", row["id"]
        )
        nothing: list[list[object]] = [[] for _ in range(10)]
        taken = row["id"], uuid4(), *nothing, numbers, row["last_message_at"]
        async with deleting.transaction():
            # A deletion does this first, and then deletes the messages in the same statement.
            await deleting.execute("SELECT FROM sessions WHERE id = $1 FOR UPDATE", row["id"])
            take = asyncio.create_task(taking.execute(load("take_batch"), *taken))
            pid = taking.get_server_pid()
            waits = "SELECT cardinality(pg_blocking_pids($1)) > 0"
            await eventually(lambda: deleting.fetchval(waits, pid))
            where = row["owner"], row["app_id"], row["project_id"], row["name"]
            assert len(await deleting.fetch(load("delete_session"), *where)) == 1
        with pytest.raises(asyncpg.NotNullViolationError):
            await take
    finally:
        await taking.close()
        await deleting.close()
