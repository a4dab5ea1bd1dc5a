"""Appending: serial in one conversation, without one waiting for another.

All appends that arrive while a statement runs become the next one, each answered after its commit.
A statement takes the lock of every conversation it writes to; one that somebody else has locked is
left out of it and gets a statement of its own.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import asyncpg

from conversations.answers import Row
from conversations.drafts import Draft
from conversations.errors import BadRequest, NotFound, Unavailable
from conversations.statements import load
from postgres.connection import DATA_FAULTS
from postgres.database import Database
from postgres.errors import StoreUnavailable

_AT_ONCE = 2
_MAX_ROWS = 1000
_MAX_CHARACTERS = 8 * 1024 * 1024
_MAX_WAITING = 10_000


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did: the messages in order, and whether any of them is new."""

    rows: list[dict[str, Any]]
    is_new: bool


@dataclass(eq=False, slots=True)
class _Append:
    conversation: UUID
    drafts: list[Draft]
    done: "asyncio.Future[list[dict[str, Any]]]" = field(repr=False)

    @property
    def size(self) -> int:
        return sum(len(draft.content) for draft in self.drafts)


class Appends:
    """The queue of one worker."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queues: dict[UUID, deque[_Append]] = {}
        self._ready: deque[UUID] = deque()  # conversations that wait and are not being written to
        self._under_way: set[UUID] = set()
        self._waiting = 0
        self._running: set[asyncio.Task[None]] = set()

    async def add(self, conversation: UUID, drafts: list[Draft]) -> Appended:
        """Store the messages together, or find out that they are stored already."""
        try:
            return Appended(await self._queue(conversation, drafts), is_new=True)
        except asyncpg.UniqueViolationError:
            return await self._repeat(conversation, drafts)

    async def drain(self) -> None:
        """Wait for what is under way."""
        while self._running:
            await asyncio.wait(self._running)

    async def _repeat(self, conversation: UUID, drafts: list[Draft]) -> Appended:
        """Some ids are known: keep what is stored, and store the rest."""
        known = await stored(self._database, [draft.id for draft in drafts])
        for draft in drafts:
            if draft.id in known:
                draft.check_repeats(known[draft.id], conversation)
        new = [draft for draft in drafts if draft.id not in known]
        if new:
            try:
                rows = await self._queue(conversation, new)
            except asyncpg.UniqueViolationError:
                raise Unavailable("the same messages are being written by somebody else") from None
            known |= {row["id"]: row for row in rows}
        return Appended([dict(known[draft.id]) for draft in drafts], is_new=bool(new))

    async def _queue(self, conversation: UUID, drafts: list[Draft]) -> list[dict[str, Any]]:
        if self._waiting >= _MAX_WAITING:
            raise Unavailable("too many messages are waiting to be stored")
        done = asyncio.get_running_loop().create_future()
        self._waiting += 1
        queue = self._queues.setdefault(conversation, deque())
        queue.append(_Append(conversation, drafts, done))
        if len(queue) == 1 and conversation not in self._under_way:
            self._ready.append(conversation)
        self._start()
        try:
            rows: list[dict[str, Any]] = await done
        finally:
            self._waiting -= 1
        return rows

    def _start(self) -> None:
        if self._ready and len(self._running) < _AT_ONCE:
            task = asyncio.create_task(self._run())
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        self._start()

    async def _run(self) -> None:
        # Whatever else becomes ready in this turn of the loop comes along.
        await asyncio.sleep(0)
        group = self._take()
        conversations = {append.conversation for append in group}
        self._under_way |= conversations
        try:
            if group:
                await self._store(group)
        except BaseException as error:
            for append in group:
                _fail(append, error)
            if not isinstance(error, Exception):
                raise
        finally:
            self._under_way -= conversations
            self._ready.extend(one for one in conversations if one in self._queues)

    def _take(self) -> list[_Append]:
        """The next batch: of every conversation that is ready all that waits, within the limits."""
        group: list[_Append] = []
        rows = size = 0
        while self._ready and rows < _MAX_ROWS and size < _MAX_CHARACTERS:
            queue = self._queues[self._ready[0]]
            while queue and rows < _MAX_ROWS and size < _MAX_CHARACTERS:
                append = queue.popleft()
                if append.done.done():
                    continue  # its caller is gone
                group.append(append)
                rows += len(append.drafts)
                size += append.size
            if not queue:
                del self._queues[self._ready[0]]
            self._ready.popleft()
        return group

    async def _store(self, group: list[_Append]) -> None:
        try:
            placed = await self._write("append_messages_to_free", group)
        except DATA_FAULTS:
            # One of them is at fault, such as by an id that is known: each on its own.
            for append in group:
                await self._store_alone([append])
            return
        busy: dict[UUID, list[_Append]] = {}
        for append in group:
            if append.drafts[0].id in placed:
                _finish(append, placed)
            else:
                busy.setdefault(append.conversation, []).append(append)
        if busy:
            await asyncio.gather(*(self._store_alone(appends) for appends in busy.values()))

    async def _store_alone(self, group: list[_Append]) -> None:
        """One conversation, waiting for whoever has locked it."""
        try:
            placed = await self._write("append_messages", group)
        except DATA_FAULTS as error:
            if len(group) > 1:
                for append in group:
                    await self._store_alone([append])
                return
            refusal: Exception = error
            if not isinstance(error, asyncpg.UniqueViolationError):
                refusal = BadRequest("content", "cannot be stored")
            _fail(group[0], refusal)
            return
        except StoreUnavailable as error:
            for append in group:
                _fail(append, error)
            return
        for append in group:
            if append.drafts[0].id in placed:
                _finish(append, placed)
            else:
                _fail(append, NotFound("conversation", str(append.conversation)))

    async def _write(self, statement: str, group: list[_Append]) -> dict[UUID, Row]:
        rows = [draft.row(append.conversation) for append in group for draft in append.drafts]
        found = await self._database.fetch(load(statement), *zip(*rows, strict=True))
        return {row["id"]: row for row in found}


async def append_in(
    connection: asyncpg.Connection, conversation: UUID, drafts: Sequence[Draft]
) -> list[dict[str, Any]]:
    """Append inside a transaction that does more; the conversation must exist."""
    if not drafts:
        return []
    rows = [draft.row(conversation) for draft in drafts]
    placed = await connection.fetch(load("append_messages"), *zip(*rows, strict=True))
    by_id = {row["id"]: row for row in placed}
    return [draft.stored(conversation, by_id[draft.id]) for draft in drafts]


async def stored(database: Database, ids: Sequence[UUID]) -> dict[UUID, Row]:
    """Those of the messages that are known, wherever they are."""
    rows = await database.fetch(load("find_messages"), list(ids))
    return {row["id"]: row for row in rows}


def _finish(append: _Append, placed: dict[UUID, Row]) -> None:
    if not append.done.done():
        append.done.set_result(
            [draft.stored(append.conversation, placed[draft.id]) for draft in append.drafts]
        )


def _fail(append: _Append, error: BaseException) -> None:
    if not append.done.done():
        append.done.set_exception(
            error if isinstance(error, Exception) else Unavailable("the server is stopping")
        )
