"""What PostgreSQL reads for a flush, however long the chat is."""

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
        plan = await connection.fetch(f"EXPLAIN {load('read_session')}", session)
    finally:
        await connection.close()
    lines = "\n".join(line for (line,) in plan)
    assert "Index Scan using messages_buffered" in lines
    assert "Bitmap" not in lines
    assert "Seq Scan" not in lines
