"""The statements and the schema, by name."""

import asyncpg

from postgres.schema import Schema
from postgres.statements import Statements

SCHEMA = Schema("memory_conversations", package="conversations.schema")
# What is read is in memory, or on a disk without a head to move: an index is worth using also where
# a table is small, which would be read as a whole for every row otherwise.
SESSION = {"random_page_cost": "1.1"}
load = Statements("conversations.sql").load


async def one(connection: asyncpg.Connection, name: str, *arguments: object) -> asyncpg.Record:
    """The row that a statement is sure to have."""
    row = await connection.fetchrow(load(name), *arguments)
    if row is None:
        raise LookupError(f"{name}.sql found nothing")
    return row
