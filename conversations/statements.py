"""The statements and the schema, by name."""

import asyncpg

from postgres.schema import Schema
from postgres.statements import Statements

SCHEMA = Schema("memory_conversations", package="conversations.schema")
load = Statements("conversations.sql").load


async def one(connection: asyncpg.Connection, name: str, *arguments: object) -> asyncpg.Record:
    """The row that a statement is sure to have."""
    row = await connection.fetchrow(load(name), *arguments)
    if row is None:
        raise LookupError(f"{name}.sql found nothing")
    return row
