"""Recordings of responses in progress: starting and ending them, even if the agent is gone.

The row of a recording is always in PostgreSQL. Its text is there as well, or in Redis until it
ends: see `text_postgres` and `text_redis`. The conversation is always locked before the recording.
"""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from uuid import UUID

import asyncpg
import orjson

from conversations.answers import Row
from conversations.appends import append_in
from conversations.batches import Batches
from conversations.drafts import Draft
from conversations.errors import BadRequest, Conflict, Forbidden, NotFound, Unavailable
from conversations.ids import new_id
from conversations.statements import load, one
from postgres.database import Database

IN_PROGRESS = "in_progress"
MAX_RECORDING = 4_194_304
_CANCEL_AFTER = timedelta(seconds=10)

log = logging.getLogger(__name__)


class TextLog(Protocol):
    """Where the text of recordings in progress is kept."""

    async def append(self, row: Row | None, key: UUID, piece: "Piece") -> Row | None:
        """Append at the end of a recording in progress; None if that is not possible."""

    async def current(self, row: Row) -> Row:
        """The row with the true length."""

    async def read(self, key: UUID, start: int) -> str:
        """The text from an offset on."""

    async def settle(self, connection: asyncpg.Connection, row: Row) -> Row:
        """Bring all text into PostgreSQL and accept no more, as part of ending the recording."""

    async def reopen(self, key: UUID) -> None:
        """Accept text again, with the recording locked, after an end that did not happen."""

    async def is_quiet(self, row: Row, idle: timedelta) -> bool:
        """Whether nothing has arrived for that long, according to where the text is kept."""

    async def forget(self, keys: Sequence[UUID]) -> None:
        """Delete text outside PostgreSQL of recordings that have ended or are deleted."""

    async def close(self) -> None:
        """Close connections of its own."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One call of an agent: text, where it begins, and whether it ends the recording."""

    agent: str
    content: str = ""
    offset: int | None = None
    complete: bool = False
    error: str | None = None

    @property
    def is_end(self) -> bool:
        return self.complete or self.error is not None

    @property
    def digest(self) -> str:
        """Identifies the call, to recognise a repeat of the one that ended a recording."""
        said = [self.content, self.offset, self.complete, self.error]
        return hashlib.sha256(orjson.dumps(said)).hexdigest()


class Recorder:
    """The operations on recordings, for all callers."""

    def __init__(self, database: Database, text: TextLog, idle: float, retention: float) -> None:
        self._database = database
        self.text = text
        self._idle = timedelta(seconds=idle)
        self._retention = timedelta(seconds=retention)
        self._newest = Batches(self._find_newest)

    async def start(
        self,
        conversation: UUID,
        *,
        agent: str,
        user: str | None,
        message: UUID | None,
        store: bool,
    ) -> Row:
        """A new recording; one that was in progress becomes `superseded`."""
        if store and message is None:
            message = new_id()
        async with self._database.transaction() as connection:
            locked = await _lock_conversation(connection, conversation)
            if store and await connection.fetch(load("find_messages"), [message]):
                raise Conflict("messageId: already used by another message")
            before = await connection.fetchval(load("find_recordings_in_progress"), [conversation])
            if before is not None:
                row = await connection.fetchrow(load("lock_recording"), before)
                if row is not None and row["status"] == IN_PROGRESS:
                    await self._end(connection, row, "superseded", None)
            started = await one(
                connection,
                "start_recording",
                new_id(),
                conversation,
                locked["group_id"],
                agent,
                user,
                message,
                store,
            )
        if before is not None:
            await self.text.forget([before])
        return started

    async def append(self, conversation: UUID, key: UUID, piece: Piece) -> Row:
        """Add a piece, and end the recording if the piece says so."""
        row = await self._database.fetchrow(load("find_recording"), key, conversation)
        if row is None:
            raise NotFound("recording", str(key))
        if row["agent_id"] != piece.agent:
            raise Forbidden("only the agent that started a recording may append to it")
        if piece.is_end:
            return await self._append_end(conversation, key, piece)
        if row["status"] == IN_PROGRESS:
            appended = await self.text.append(row, key, piece)
            if appended is not None:
                return appended
            row = await self._database.fetchrow(load("find_recording"), key, conversation)
            if row is None:
                raise NotFound("recording", str(key))
        if row["status"] != IN_PROGRESS:
            raise _has_ended(row)
        return await self._explain(await self.text.current(row), piece)

    async def _append_end(self, conversation: UUID, key: UUID, piece: Piece) -> Row:
        async with self._database.transaction() as connection:
            row = await _lock_recording(connection, conversation, key)
            if row["status"] != IN_PROGRESS:
                if _repeats_end(row, piece):
                    return row
                raise _has_ended(row)
            settled = await self.text.settle(connection, row)
            if piece.content or piece.offset is not None:
                settled = await self._append_last(connection, settled, piece)
            status = "failed" if piece.error is not None else "completed"
            if status == "completed" and settled["cancel_requested"]:
                status = "cancelled"
            ended = await self._end(connection, settled, status, piece.digest)
        await self.text.forget([key])
        return ended

    async def _append_last(self, connection: asyncpg.Connection, row: Row, piece: Piece) -> Row:
        """The text of the call that ends a recording."""
        appended = await connection.fetchrow(
            load("append_recorded"),
            row["id"],
            piece.agent,
            piece.offset,
            piece.content,
            MAX_RECORDING,
        )
        if appended is not None:
            return appended
        text = await _recorded(connection, row["id"])
        return _check_repeat(row, piece, text)

    async def _explain(self, row: Row, piece: Piece) -> Row:
        """Why nothing was appended to a recording in progress: a repeat, a refusal, or an end."""
        if piece.offset is None or piece.offset == row["length"]:
            if row["length"] + len(piece.content) > MAX_RECORDING:
                raise _too_long()
            return await self._append_again(row["conversation_id"], row["id"], piece)
        return _check_repeat(row, piece, await self.text.read(row["id"], 0))

    async def _append_again(self, conversation: UUID, key: UUID, piece: Piece) -> Row:
        """Append to a recording that an end has closed, if that end was refused or failed."""
        async with self._database.transaction() as connection:
            # Whoever ends a recording holds this lock: if it is in progress now, nobody does.
            row = await _lock_recording(connection, conversation, key)
            if row["status"] != IN_PROGRESS:
                raise _has_ended(row)
            await self.text.reopen(key)
        appended = await self.text.append(row, key, piece)
        if appended is None:
            raise Unavailable("another call is appending to the recording or ending it; retry")
        return appended

    async def _end(
        self, connection: asyncpg.Connection, row: Row, status: str, ending: str | None
    ) -> Row:
        """End a recording in progress, with both locks held, and store its text if requested."""
        row = await self.text.settle(connection, row)
        message = row["message_id"]
        if row["store"]:
            message = await self._store(connection, row)
        return await one(
            connection, "end_recording", row["id"], status, ending, message, row["length"]
        )

    @staticmethod
    async def _store(connection: asyncpg.Connection, row: Row) -> UUID | None:
        """Store the text as a message, if there is any."""
        text = await _recorded(connection, row["id"])
        if not text.strip():
            return None
        draft = Draft(
            id=row["message_id"] or new_id(),
            role="assistant",
            channel="HISTORY",
            visibility="user",
            content=text,
            is_list=False,
            text=text,
            user=row["user_id"],
            agent=row["agent_id"],
        )
        known = await connection.fetchrow(load("find_messages"), [draft.id])
        if known is not None:
            if draft.repeats(known, row["conversation_id"]):
                return draft.id  # the agent has appended it
            draft = draft._replace(id=new_id())  # the answer must not be lost
        await append_in(connection, row["conversation_id"], [draft])
        return draft.id

    async def newest(self, conversation: UUID) -> Row | None:
        """The newest recording that can be replayed, with its true length."""
        row = await self._newest.ask(conversation)
        return None if row is None else await self.text.current(row)

    async def _find_newest(self, asked: list[UUID]) -> list[Row | None]:
        """For all concurrent callers, such as followers that reconnect."""
        found: list[Row | None] = [None] * len(asked)
        rows = await self._database.fetch(load("newest_recording"), asked, self._retention)
        for row in rows:
            found[row["place"] - 1] = row
        return found

    async def cancel(self, conversation: UUID) -> bool:
        """Ask the agent to stop; returns whether anything was in progress."""
        rows = await self._database.fetch(load("request_cancel"), conversation, _CANCEL_AFTER)
        return bool(rows)

    async def in_progress(self, conversations: list[UUID], user: str) -> set[UUID]:
        rows = await self._database.fetch(load("recordings_in_progress"), conversations, user)
        return {row["conversation_id"] for row in rows}

    async def sweep(self) -> None:
        """End abandoned recordings: idle for too long, or still not stopped when cancelled."""
        for row in await self._database.fetch(load("overdue_recordings"), self._idle):
            if await self._end_overdue(row["conversation_id"], row["id"]):
                await self.text.forget([row["id"]])

    async def _end_overdue(self, conversation: UUID, key: UUID) -> bool:
        async with self._database.transaction() as connection:
            locked = await connection.fetchrow(load("lock_conversation"), conversation)
            found = await connection.fetchrow(load("lock_recording"), key)
            if locked is None or found is None:
                return False
            status = await connection.fetchval(load("is_overdue"), key, self._idle)
            if status == "aborted" and not await self.text.is_quiet(found, self._idle):
                await connection.execute(load("touch_recording"), key)
                return False
            if status is not None:
                await self._end(connection, found, status, None)
        return status is not None

    async def forget_old(self) -> None:
        """Delete recordings older than the retention time."""
        while await self._database.fetch(load("delete_old_recordings"), self._retention):
            pass


async def _lock_conversation(connection: asyncpg.Connection, conversation: UUID) -> Row:
    locked = await connection.fetchrow(load("lock_conversation"), conversation)
    if locked is None:
        raise NotFound("conversation", str(conversation))
    found: Row = locked
    return found


async def _lock_recording(connection: asyncpg.Connection, conversation: UUID, key: UUID) -> Row:
    await _lock_conversation(connection, conversation)
    locked = await connection.fetchrow(load("lock_recording"), key)
    if locked is None:
        raise NotFound("recording", str(key))
    found: Row = locked
    return found


async def _recorded(connection: asyncpg.Connection, key: UUID) -> str:
    rows = await connection.fetch(load("read_recorded"), key, 0)
    return "".join(row["content"] for row in rows)


def _check_repeat(row: Row, piece: Piece, text: str) -> Row:
    """Accept a piece that was already recorded; otherwise report where the recording ends."""
    start = piece.offset
    if start is not None and start < row["length"]:
        if text[start : start + len(piece.content)] == piece.content:
            return row
    elif start is None or start == row["length"]:
        raise _too_long()
    raise Conflict(
        "offset: is not the end of the recording; continue at details.offset", offset=row["length"]
    )


def _repeats_end(row: Row, piece: Piece) -> bool:
    return row["ending"] is not None and row["ending"] == piece.digest


def _has_ended(row: Row) -> Conflict:
    return Conflict(f"the recording is {row['status']}", status=row["status"])


def _too_long() -> BadRequest:
    return BadRequest("content", f"a recording holds at most {MAX_RECORDING} characters")
