"""The text of recordings in PostgreSQL: durable, and in the same place as everything else."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import asyncpg

from conversations.answers import Row
from conversations.recorder import MAX_RECORDING, Piece
from conversations.statements import load
from postgres.database import Database


class PostgresText:
    """A piece is a row; the recording's row has the length."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, _row: Row | None, key: UUID, piece: Piece) -> Row | None:
        row: Row | None = await self._database.fetchrow(
            load("append_recorded"), key, piece.agent, piece.offset, piece.content, MAX_RECORDING
        )
        return row

    async def current(self, row: Row) -> Row:
        return row

    async def read(self, key: UUID, start: int) -> str:
        rows = await self._database.fetch(load("read_recorded"), key, start)
        if not rows:
            return ""
        return "".join(row["content"] for row in rows)[max(0, start - rows[0]["first"]) :]

    async def settle(self, _connection: asyncpg.Connection, row: Row) -> Row:
        return row

    async def reopen(self, key: UUID) -> None:
        """An end that did not happen was rolled back."""

    async def is_quiet(self, _row: Row, _idle: timedelta) -> bool:
        return True

    async def forget(self, keys: Sequence[UUID]) -> None:
        """There is no text elsewhere."""

    async def close(self) -> None:
        """The connections are the database's."""
