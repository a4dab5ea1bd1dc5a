"""What PostgreSQL reads for a flush, however long the chat is."""

from datetime import UTC, datetime
from uuid import uuid4

import asyncpg
import pytest

from gateway.app import PLANS
from gateway.statements import load
from tests.integration.gateway.people import Person

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
        taken = session, uuid4(), [1, 2], datetime.now(UTC), *nothing
        read = await connection.fetch(f"EXPLAIN {load('read_session')}", session)
        take = await connection.fetch(f"EXPLAIN {load('take_batch')}", *taken)
    finally:
        await connection.close()
    for plan in (read, take):
        lines = "\n".join(line for (line,) in plan)
        assert "Index Scan using messages_buffered" in lines
        assert "messages_pkey" not in lines
        assert "Bitmap" not in lines
    assert "Seq Scan" not in "\n".join(line for (line,) in read)
