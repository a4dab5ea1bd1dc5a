"""What PostgreSQL knows about memories: their owners, sizes, usage and current writers.

The memories themselves are in the plugin. The ledger ensures one writer at a time per memory across
all workers, and tells every worker when something changed.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from postgres.database import Database
from postgres.statements import Statements
from recall.memory import SHARED, Memory, namespace_of
from recall.selection import Selection
from recall.tokens import estimate_tokens

STATEMENTS = Statements("recall.sql")


@dataclass(frozen=True)
class Sizes:
    """How many memories recall wrote, their tokens, and when the first of them expires."""

    count: int
    tokens: int
    until: datetime | None


class Writing:
    """The records of one writer, committed together."""

    def __init__(self, connection: asyncpg.Connection, *, is_edit: bool) -> None:
        self._connection = connection
        self._is_edit = is_edit
        self._owners: set[str] = set()

    async def lock(self, ids: Iterable[str]) -> None:
        """Lock these memories, all at once, waiting for other writers."""
        await self._connection.execute(STATEMENTS.load("lock_memories"), list(ids))

    async def prepare(self, owners: Iterable[str]) -> None:
        """Record owners before their first memory is written, so that it can always be found."""
        for owner in sorted(set(owners) - {SHARED}):
            await self._connection.execute(
                STATEMENTS.load("note_owner"), owner, namespace_of(owner)
            )

    async def wrote(self, memories: Sequence[Memory]) -> None:
        """Record memories that were written."""
        self._owners |= {memory.api_key_id for memory in memories}
        await self._connection.execute(
            STATEMENTS.load("note_memories"),
            [UUID(memory.id) for memory in memories],
            [memory.api_key_id for memory in memories],
            [memory.type for memory in memories],
            [memory.session_id for memory in memories],
            [estimate_tokens(memory.content) for memory in memories],
            [memory.expires_at for memory in memories],
            [memory.embedded_with for memory in memories],
        )

    async def moved(self, old_id: str, new_id: str) -> None:
        """Record that a memory has a new id."""
        await self._connection.execute(STATEMENTS.load("move_memory"), UUID(old_id), UUID(new_id))

    async def deleted(self, owner: str, ids: Iterable[str]) -> None:
        """Record memories that were deleted."""
        self._owners.add(owner)
        await self._connection.execute(
            STATEMENTS.load("drop_memories"), [UUID(memory_id) for memory_id in ids]
        )

    async def deleted_all(self, owner: str) -> None:
        """Record that an owner has no memories any more."""
        self._owners.add(owner)
        await self._connection.execute(STATEMENTS.load("drop_owner"), owner)

    async def finish(self) -> None:
        """Tell all workers that something was changed through REST or MCP."""
        if self._is_edit and self._owners:
            await self._connection.execute(STATEMENTS.load("note_edits"), sorted(self._owners))
            await self._connection.fetchval("SELECT nextval('edits')")


class Ledger:
    """Recall's own tables about memories."""

    def __init__(self, database: Database, writers: int = 4) -> None:
        self._database = database
        # Writers hold a connection while they wait for the plugin; keep some for readers.
        self._writers = asyncio.Semaphore(writers)

    @asynccontextmanager
    async def writing(self, *, is_edit: bool) -> AsyncIterator[Writing]:
        """Wraps writes. `is_edit`: through REST or MCP, which invalidates chosen blocks."""
        async with self._writers, self._database.transaction() as connection:
            writing = Writing(connection, is_edit=is_edit)
            yield writing
            await writing.finish()

    async def owners(self) -> list[str]:
        """All owners that have or had memories, including the shared one."""
        rows = await self._database.fetch("SELECT owner FROM owners ORDER BY owner")
        return [row["owner"] for row in rows]

    async def owner_of(self, memory_id: str) -> str | None:
        """The owner of a memory, if recall wrote it."""
        owner: str | None = await self._database.fetchval(
            "SELECT owner FROM memories WHERE id = $1", UUID(memory_id)
        )
        return owner

    async def ids(self, selection: Selection) -> list[str]:
        """The ids of a selection by owner, type and session, limited to what recall wrote."""
        rows = await self._database.fetch(
            STATEMENTS.load("list_ids"),
            list(selection.owners),
            selection.type,
            selection.session_id,
        )
        return [str(row["id"]) for row in rows]

    async def owners_of(self, ids: Sequence[str]) -> dict[str, str]:
        """The owners of these memories, for those that recall wrote."""
        rows = await self._database.fetch(
            "SELECT id, owner FROM memories WHERE id = ANY($1::uuid[])",
            [UUID(memory_id) for memory_id in ids],
        )
        return {str(row["id"]): row["owner"] for row in rows}

    async def with_access(self, memories: Sequence[Memory]) -> list[Memory]:
        """The memories with their access counts."""
        if not memories:
            return []
        rows = await self._database.fetch(
            STATEMENTS.load("read_access"), [UUID(memory.id) for memory in memories]
        )
        known = {str(row["id"]): row for row in rows}
        return [
            memory.accessed(known[memory.id]["access_count"], known[memory.id]["last_accessed_at"])
            if memory.id in known
            else memory
            for memory in memories
        ]

    async def sizes(self, selection: Selection, *, everybody: bool) -> Sizes:
        """The number and size of a selection, limited to what recall wrote."""
        row: Any = await self._database.fetchrow(
            STATEMENTS.load("read_tokens"),
            None if everybody else list(selection.owners),
            selection.type,
            selection.session_id,
        )
        return Sizes(row["count"], row["tokens"], row["until"])

    async def lacks_vectors(self, model: str) -> bool:
        """Whether any memory lacks a vector of this model."""
        found: bool = await self._database.fetchval(STATEMENTS.load("lacks_vectors"), model)
        return found

    async def edits(self) -> int:
        """A counter that every change through REST or MCP increments."""
        value: int = await self._database.fetchval("SELECT last_value FROM edits")
        return value

    async def sweep(self) -> None:
        """Delete expired records."""
        for name in ("forget_turns", "drop_expired", "fold_usage"):
            await self._database.execute(STATEMENTS.load(name))
