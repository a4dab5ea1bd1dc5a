"""The SQL statements and the schema."""

import asyncpg

from postgres.schema import Schema
from postgres.statements import Statements

SCHEMA = Schema("memory_conversations", package="conversations.schema")
# The data is in memory or on an SSD, so random reads are cheap, and an index is worth using even on
# small tables. Every statement has an index for what it looks up; without the second setting, a
# plan made while the outbox was empty would go on reading all of it, however long it gets.
SESSION = {"random_page_cost": "1.1", "enable_seqscan": "off"}
load = Statements("conversations.sql").load


async def one(connection: asyncpg.Connection, name: str, *arguments: object) -> asyncpg.Record:
    """The row of a statement that always returns one."""
    row = await connection.fetchrow(load(name), *arguments)
    if row is None:
        raise LookupError(f"{name}.sql found nothing")
    return row
