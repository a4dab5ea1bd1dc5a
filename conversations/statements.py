"""The statements and the schema, by name."""

import asyncpg

from postgres.schema import Schema
from postgres.statements import Statements

SCHEMA = Schema("memory_conversations", package="conversations.schema")
# What is read is in memory, or on a disk without a head to move: an index is worth using also where
# a table is small, which would be read as a whole for every row otherwise. Every statement has an
# index for what it looks for; without the second setting a plan that was made while the outbox was
# empty would read all of it, however many rows wait by then.
SESSION = {"random_page_cost": "1.1", "enable_seqscan": "off"}
load = Statements("conversations.sql").load


async def one(connection: asyncpg.Connection, name: str, *arguments: object) -> asyncpg.Record:
    """The row that a statement is sure to have."""
    row = await connection.fetchrow(load(name), *arguments)
    if row is None:
        raise LookupError(f"{name}.sql found nothing")
    return row
