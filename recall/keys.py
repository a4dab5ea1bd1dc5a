"""API keys: created, listed, renamed, disabled, removed. Only their hashes are stored."""

import secrets
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from contract import format_time
from postgres.database import Database
from recall.ledger import STATEMENTS
from recall.watch import hash_of

PREFIX: Final = "mr_"
_BYTES = 30  # 40 characters of base64


class Keys:
    """The keys in PostgreSQL. A change takes effect with the next request on any worker."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[dict[str, Any]]:
        """Every key, without its secret."""
        return [_shown(row) for row in await self._database.fetch(STATEMENTS.load("list_keys"))]

    async def add(self, name: str) -> dict[str, Any]:
        """Create a key; its secret cannot be read again."""
        key = PREFIX + secrets.token_urlsafe(_BYTES)
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(
                STATEMENTS.load("add_key"), str(uuid4()), name, hash_of(key)
            )
            await connection.execute(STATEMENTS.load("note_keys"))
        return {**_shown(row), "key": key}

    async def change(
        self, key_id: str, *, name: str | None, disabled: bool | None
    ) -> dict[str, Any] | None:
        """Rename or disable a key; None if it does not exist."""
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(STATEMENTS.load("change_key"), key_id, name, disabled)
            await connection.execute(STATEMENTS.load("note_keys"))
        return None if row is None else _shown(row)

    async def remove(self, key_id: str) -> bool:
        """Remove a key; returns whether it existed."""
        async with self._database.transaction() as connection:
            removed = await connection.fetchval(STATEMENTS.load("remove_key"), key_id)
            await connection.execute(STATEMENTS.load("note_keys"))
        return removed is not None


def looks_like_key(token: str) -> bool:
    """Whether a token looks like one of our keys."""
    return token.startswith(PREFIX) and len(token) == len(PREFIX) + 40


def _shown(row: Any) -> dict[str, Any]:
    created_at: datetime = row["created_at"]
    return {
        "id": row["id"],
        "name": row["name"],
        "createdAt": format_time(created_at),
        "disabled": row["disabled"],
    }
