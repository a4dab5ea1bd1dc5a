"""`POST /memories/flush`: the buffer of a session becomes memories, exactly once.

    take       record in the database what the batch contains: the text and id of every memory
    write      write the memories to the plugin; a repeated write replaces, as the ids are the same
    complete   drop the texts from the database; the batch is done

The caller gets its response after the write; completing runs in the background, under the lock. If
a process dies in between, the batch stays in the database, and the next flush of the session or a
background task resumes it.
"""

import hmac
import logging
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from asyncpg import ForeignKeyViolationError, NotNullViolationError

import contract
from gateway.batch import Batch
from gateway.credentials import Credentials
from gateway.errors import Unavailable
from gateway.locks import Held, Locks
from gateway.metrics import Numbers
from gateway.models import Models
from gateway.names import SessionName
from gateway.plugin import Plugin, Unwritten
from gateway.recent import Added, Recent
from gateway.statements import load
from gateway.turns import Message
from gateway.users import recognise
from gateway.wire import FlushRequest
from postgres.database import Database

_MOST_AT_ONCE = 500
_MOST_KNOWN = 10_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Taken:
    """How many messages a flush took from the buffer, and how many memories it made."""

    messages: int = 0
    memories: int = 0

    def __add__(self, other: "Taken") -> "Taken":
        return Taken(self.messages + other.messages, self.memories + other.memories)


@dataclass(frozen=True, slots=True)
class _Session:
    id: int
    name: SessionName
    namespace: str
    is_new: bool


class _Known(NamedTuple):
    """A session as a flush has read it, and the key that its user had then."""

    session: _Session
    key_sha256: bytes


class _Outdated(Exception):
    """Another flush took the messages after they were read and before the lock was held."""


class Flush:
    """Writes added messages and uploaded files to the plugin."""

    def __init__(
        self,
        database: Database,
        plugin: Plugin,
        locks: Locks,
        models: Models,
        recent: Recent,
        numbers: Numbers,
    ) -> None:
        self._database = database
        self._plugin = plugin
        self._locks = locks
        self._models = models
        self._recent = recent
        self._numbers = numbers
        self._known: OrderedDict[SessionName, _Known] = OrderedDict()

    async def flush(self, given: Credentials, request: FlushRequest) -> dict[str, Any]:
        """Flush a session by its name; one that does not exist has nothing to extract."""
        name = SessionName(given.user_id, request.app_id, request.project_id, request.session_id)
        taken = await self._flush_known(given, name)
        if taken is None:
            session = await self._find(given, name)
            taken = Taken() if session is None else await self.run(session)
        return {
            "status": "extracted" if taken.memories else "no_extraction",
            "session_id": request.session_id,
            "message_count": taken.messages,
            "memory_count": taken.memories,
        }

    async def run(self, session: int, *, take: bool = True) -> Taken:
        """Everything that was added before this began is searchable when it returns.

        Without `take`, only what an earlier flush has taken. Raises `Unavailable` if the plugin
        does not accept everything; the rest is retried later.
        """
        return await self._flush_session(session, take=take) or Taken()

    async def _flush_known(self, given: Credentials, name: SessionName) -> Taken | None:
        """Flush a session that was flushed before, without looking it up first.

        The statement that reads it also checks the key. None if the session is gone or the key is
        wrong.
        """
        known = self._known.get(name)
        if known is None or not hmac.compare_digest(known.key_sha256, given.key_sha256):
            return None
        added = self._recent.forget(name)
        taken = None
        if added and not known.session.is_new:
            taken = await self._flush_added(known, added)
        if taken is None:
            taken = await self._flush_session(known.session.id, given)
        if taken is None:
            self._known.pop(name, None)
        return taken

    async def _flush_added(self, known: _Known, added: list[Added]) -> Taken | None:
        """Flush what this worker has added, without reading it.

        None if the buffer has other messages, or anything else has changed: nothing was taken.
        """
        session = known.session
        batch = self._batch(session, [it.message() for it in added])
        if len(batch.memories) >= _MOST_AT_ONCE:
            return None
        arguments = batch.id, *batch.arguments(), session.id, known.key_sha256
        digests = [it.digest for it in added]
        try:
            async with self._locks.hold(
                session.id, load("take_added"), *arguments, digests
            ) as held:
                if not held.rows[0]["is_taken"]:
                    return None
                return await self._deliver_batch(held, session, batch, len(added))
        except (ForeignKeyViolationError, NotNullViolationError):
            return None  # another flush was faster, or the session has just been deleted

    async def _flush_session(
        self, session: int, given: Credentials | None = None, *, take: bool = True
    ) -> Taken | None:
        """None if the session is gone, or the given key is wrong."""
        async with self._locks.hold(session, load("read_session"), session) as held:
            while True:
                try:
                    return await self._run(held, session, given, take=take)
                except _Outdated:
                    await held.read_again()

    async def _find(self, given: Credentials, name: SessionName) -> int | None:
        """The session of that name, or None; `Unauthorized` for a wrong key."""
        row = await self._database.fetchrow(
            load("find_session"), name.user_id, name.app_id, name.project_id, name.name
        )
        recognise(given, row)
        return None if row is None else row["session"]

    async def _run(
        self, held: Held, session_id: int, given: Credentials | None, *, take: bool
    ) -> Taken | None:
        rows = held.rows
        first = rows[0]
        if first["id"] is None:
            return None
        if given is not None and not hmac.compare_digest(first["key_sha256"], given.key_sha256):
            return None
        name = SessionName(first["user_id"], first["app_id"], first["project_id"], first["name"])
        session = _Session(session_id, name, first["namespace"], first["is_new"])
        self._known[name] = _Known(session, first["key_sha256"])
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        self._recent.forget(name)  # this flush takes it
        batch: Batch | None = None
        if take and first["number"] is None and first["is_buffering"]:
            # All that was added since the last flush was known. It would be idle for ever.
            await held.connection.execute(
                load("end_buffering"), session_id, first["last_message_at"]
            )
        if take and first["number"] is not None:
            try:
                batch = await self._take(held, session)
            except ForeignKeyViolationError:
                return Taken()  # it has just been deleted
            except NotNullViolationError:
                raise _Outdated from None
        elif not first["has_open_batches"]:
            return Taken()
        if (
            batch is not None
            and len(batch.memories) < _MOST_AT_ONCE
            and not first["has_open_batches"]
        ):
            return await self._deliver_batch(held, session, batch, len(rows))
        return await self._deliver(held, session)

    async def _take(self, held: Held, session: _Session) -> Batch:
        """Record durably what is taken, before the plugin is called."""
        rows = held.rows
        messages = [
            Message(row["role"], row["sender_id"], row["sent_at"], row["content"]) for row in rows
        ]
        batch = self._batch(session, messages)
        await held.connection.execute(
            load("take_batch"),
            session.id,
            batch.id,
            *batch.arguments(),
            [row["number"] for row in rows],
            rows[0]["last_message_at"],
        )
        return batch

    def _batch(self, session: _Session, messages: list[Message]) -> Batch:
        batch = Batch(uuid4(), session.name)
        batch.add_turns(messages, ask=self._models.finds_facts)
        return batch

    async def _deliver_batch(
        self, held: Held, session: _Session, batch: Batch, messages: int
    ) -> Taken:
        """Write a batch when nothing else is waiting, so that it is known what to complete."""
        waiting = [Unwritten(it.id, it.type, it.created_at, it.text) for it in batch.memories]
        written = await self._write(session, waiting, is_new=session.is_new)
        if len(written) < len(waiting):
            return await self._deliver(held, session)  # some were refused: find out which
        # Together with releasing the lock: after a crash, the batch is written again.
        held.end_with(f"SELECT complete_batch({session.id:d}, '{batch.id}')")
        self._numbers.memories_written.inc(len(written))
        return Taken(messages, len(waiting))

    async def _deliver(self, held: Held, session: _Session) -> Taken:
        """Write everything that is waiting, and complete the batches that are fully written."""
        total = Taken()
        is_new = session.is_new
        refused: list[UUID] = []
        while True:
            waiting = await self._waiting(session, refused)
            is_last = len(waiting) < _MOST_AT_ONCE
            written = await self._write(session, waiting, is_new=is_new)
            is_new = is_new and not written
            # One that the plugin refuses does not hold up the others.
            refused += [it.id for it in waiting if it.id not in written]
            done = await held.connection.fetchrow(load("mark_written"), session.id, list(written))
            if done is not None:
                total += Taken(done["message_count"], done["memory_count"])
            self._numbers.memories_written.inc(len(written))
            if is_last:
                break
        if refused:
            await self._postpone(session, "refused")
            raise Unavailable(
                "the memory plugin refuses some of the memories; the flush will be retried",
                retry_after=5,
            )
        return total

    async def _waiting(self, session: _Session, refused: list[UUID]) -> list[Unwritten]:
        rows = await self._database.fetch(
            load("unwritten_memories"), session.id, _MOST_AT_ONCE, refused
        )
        return [Unwritten(row["id"], row["type"], row["created_at"], row["text"]) for row in rows]

    async def _write(
        self, session: _Session, waiting: list[Unwritten], *, is_new: bool
    ) -> set[UUID]:
        if not waiting:
            return set()
        if self._models.embeds:
            embeddings = await self._models.embed([it.text for it in waiting])
            waiting = [
                replace(it, embedding=embedding)
                for it, embedding in zip(waiting, embeddings, strict=True)
            ]
        try:
            return await self._plugin.write(session.name, session.namespace, waiting, is_new=is_new)
        except contract.MemoryPluginError as error:
            await self._postpone(session, type(error).__name__)
            raise Unavailable(
                "the memory plugin does not accept memories now; the flush will be retried",
                retry_after=getattr(error, "retry_after", None),
            ) from None

    async def _postpone(self, session: _Session, reason: str) -> None:
        self._numbers.flushes_postponed.inc()
        log.warning("flush postponed", extra={"session": session.id, "reason": reason})
        await self._database.execute(load("postpone_batches"), session.id)
