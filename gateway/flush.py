"""`POST /memories/flush`: the buffer of a session becomes memories, exactly once.

    take       what it takes is fixed in the database, with the text and the id of every memory
    write      the plugin gets the memories; a repeat replaces, because the ids are the same
    complete   the texts are dropped from the database, and the batch is done

Whoever dies in between, the batch stays in the database, and the next flush of the session or the
gateway by itself goes on with it.
"""

import logging
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from asyncpg import ForeignKeyViolationError

import contract
from gateway.batch import Batch
from gateway.errors import Unavailable
from gateway.locks import Locks
from gateway.metrics import Numbers
from gateway.models import Models
from gateway.names import SessionName
from gateway.plugin import Plugin, Unwritten
from gateway.statements import load
from gateway.turns import Message
from gateway.users import User
from gateway.wire import FlushRequest
from postgres.database import Database

_MOST_AT_ONCE = 500

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Taken:
    """How much a flush took from the buffer, and made of it."""

    messages: int = 0
    memories: int = 0

    def __add__(self, other: "Taken") -> "Taken":
        return Taken(self.messages + other.messages, self.memories + other.memories)


@dataclass(frozen=True, slots=True)
class _Session:
    id: int
    name: SessionName
    namespace: str
    is_stored: bool


class Flush:
    """Brings what was added, and what was uploaded, to the plugin."""

    def __init__(
        self, database: Database, plugin: Plugin, locks: Locks, models: Models, numbers: Numbers
    ) -> None:
        self._database = database
        self._plugin = plugin
        self._locks = locks
        self._models = models
        self._numbers = numbers

    async def flush(self, user: User, request: FlushRequest) -> dict[str, Any]:
        """Flush a session by its name; one that does not exist has nothing to extract."""
        session = await self._database.fetchrow(
            load("find_session"), user.id, request.app_id, request.project_id, request.session_id
        )
        taken = Taken() if session is None else await self.run(session["id"])
        return {
            "status": "extracted" if taken.memories else "no_extraction",
            "session_id": request.session_id,
            "message_count": taken.messages,
            "memory_count": taken.memories,
        }

    async def run(self, session: int, *, take: bool = True) -> Taken:
        """Everything that was added before this began is searchable when it returns.

        Without `take`, only what an earlier flush has taken. Raises `Unavailable` when the plugin
        does not take all of it: the rest is remembered.
        """
        async with self._locks.hold(session):
            return await self._run(session, take=take)

    async def _run(self, session_id: int, *, take: bool) -> Taken:
        rows = await self._database.fetch(load("read_session"), session_id)
        if not rows:
            return Taken()  # deleted meanwhile
        first = rows[0]
        name = SessionName(first["user_id"], first["app_id"], first["project_id"], first["name"])
        session = _Session(session_id, name, first["namespace"], first["is_stored"])
        if take and first["number"] is not None:
            try:
                await self._take(session, rows)
            except ForeignKeyViolationError:
                return Taken()  # deleted in this moment
        return await self.write(session)

    async def _take(self, session: _Session, rows: list[Any]) -> None:
        batch = Batch(uuid4(), session.name)
        messages = [
            Message(row["role"], row["sender_id"], row["sent_at"], row["content"]) for row in rows
        ]
        batch.add_turns(messages, ask=self._models.finds_facts)
        await self._database.execute(
            load("take_batch"),
            session.id,
            batch.id,
            [row["number"] for row in rows],
            rows[0]["last_message_at"],
            *batch.arguments(),
        )

    async def write(self, session: _Session) -> Taken:
        """Bring what waits to the plugin, and complete the batches that are whole."""
        total = Taken()
        is_stored = session.is_stored
        refused: list[UUID] = []
        while True:
            waiting = await self._database.fetch(
                load("unwritten_memories"), session.id, _MOST_AT_ONCE, refused
            )
            try:
                written = await self._write(session, waiting, is_new=not is_stored)
            except contract.MemoryPluginError as error:
                await self._postpone(session, type(error).__name__)
                raise Unavailable(
                    "the memory plugin does not take memories now; the flush is remembered",
                    retry_after=getattr(error, "retry_after", None),
                ) from None
            is_stored = is_stored or bool(written)
            done = await self._database.fetchrow(load("mark_written"), session.id, list(written))
            if done is not None:
                total += Taken(done["message_count"], done["memory_count"])
            self._numbers.memories_written.inc(len(written))
            # One that the plugin refuses does not hold up the others.
            refused += [row["id"] for row in waiting if row["id"] not in written]
            if len(waiting) < _MOST_AT_ONCE:
                break
        if refused:
            await self._postpone(session, "refused")
            raise Unavailable(
                "the memory plugin refuses some of the memories; the flush is remembered",
                retry_after=5,
            )
        return total

    async def _write(self, session: _Session, waiting: list[Any], *, is_new: bool) -> set[UUID]:
        if not waiting:
            return set()
        embeddings = await self._models.embed([row["text"] for row in waiting])
        memories = [
            Unwritten(row["id"], row["type"], row["created_at"], row["text"], embedding)
            for row, embedding in zip(waiting, embeddings, strict=True)
        ]
        return await self._plugin.write(session.name, session.namespace, memories, is_new=is_new)

    async def _postpone(self, session: _Session, reason: str) -> None:
        self._numbers.flushes_postponed.inc()
        log.warning("a flush is postponed", extra={"session": session.id, "reason": reason})
        await self._database.execute(load("postpone_batches"), session.id)
