"""Appending: serial within a conversation, without conversations waiting for each other.

All appends that arrive while a statement runs go into the next one; each is answered after its
commit. A statement locks every conversation it writes to. It skips a conversation that is already
locked, or that one of the users may not write to; these get statements of their own, outside the
queue. If a message is invalid, every conversation of the batch does.
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg

from conversations.access import Access, Caller
from conversations.answers import Row
from conversations.batches import Rounds
from conversations.drafts import Draft
from conversations.errors import BadRequest, NotFound, Refusal, Unavailable
from conversations.places import WRITES, arguments
from conversations.statements import load
from postgres.connection import DATA_FAULTS
from postgres.database import Database
from postgres.errors import StoreUnavailable

# One statement at a time makes the largest batches; most of the cost of a statement is fixed.
_AT_ONCE = 1
# Locked conversations that are waited for, each on its own connection.
_WAITED_FOR = 4
_MAX_ROWS = 1000
_MAX_CHARACTERS = 8 * 1024 * 1024
_MAX_WAITING = 10_000
# Waits for locked conversations instead of skipping them.
_WAITING = load("append_messages", leave_out="only-free")


class Appended(NamedTuple):
    """What an append did: the messages in order, and whether any of them is new."""

    rows: list[dict[str, Any]]
    is_new: bool


@dataclass(eq=False, slots=True)
class _Append:
    conversation: UUID
    drafts: list[Draft]
    asker: str | None
    done: "asyncio.Future[list[dict[str, Any]]]" = field(repr=False)

    @property
    def size(self) -> int:
        return sum([len(draft.content) for draft in self.drafts])


class Appends:
    """The queue of one worker."""

    def __init__(self, database: Database, access: Access) -> None:
        self._database = database
        self._access = access
        self._queues: dict[UUID, deque[_Append]] = {}
        self._ready: deque[UUID] = deque()  # conversations that wait and are not being written to
        self._under_way: set[UUID] = set()
        self._waiting = 0
        self._rounds = Rounds(self._work, lambda: bool(self._ready), _AT_ONCE)
        self._waited_for = asyncio.Semaphore(_WAITED_FOR)
        self._waits: set[asyncio.Task[None]] = set()
        # Looked up once: each lookup makes a system call.
        self._loop: asyncio.AbstractEventLoop | None = None

    async def add(
        self, conversation: UUID, drafts: list[Draft], asker: str | None = None
    ) -> Appended:
        """Store the messages together, or return them if they are already stored.

        With `asker`, only if that user may write there; without it, access was checked before.
        """
        try:
            return Appended(await self._queue(conversation, drafts, asker), is_new=True)
        except asyncpg.UniqueViolationError:
            return await self._repeat(conversation, drafts, asker)

    async def drain(self) -> None:
        """Wait for running statements."""
        await self._rounds.drain()
        while self._waits:
            await asyncio.wait(self._waits)

    async def _repeat(self, conversation: UUID, drafts: list[Draft], asker: str | None) -> Appended:
        """Some ids exist already: keep those messages, and store the rest."""
        known = await stored(self._database, [draft.id for draft in drafts])
        for draft in drafts:
            if draft.id in known:
                draft.check_repeats(known[draft.id], conversation)
        new = [draft for draft in drafts if draft.id not in known]
        if new:
            try:
                rows = await self._queue(conversation, new, asker)
            except asyncpg.UniqueViolationError:
                raise Unavailable("another request is writing the same messages; retry") from None
            known |= {row["id"]: row for row in rows}
        return Appended([dict(known[draft.id]) for draft in drafts], is_new=bool(new))

    async def _queue(
        self, conversation: UUID, drafts: list[Draft], asker: str | None
    ) -> list[dict[str, Any]]:
        if self._waiting >= _MAX_WAITING:
            raise Unavailable("too many messages are waiting to be stored")
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        done: asyncio.Future[list[dict[str, Any]]] = self._loop.create_future()
        self._waiting += 1
        append = _Append(conversation, drafts, asker, done)
        queue = self._queues.get(conversation)
        if queue is not None:
            queue.append(append)
        else:
            self._queues[conversation] = deque((append,))
            if conversation not in self._under_way:
                self._ready.append(conversation)
        self._rounds.start()
        try:
            return await done
        finally:
            self._waiting -= 1

    async def _work(self) -> None:
        group = self._take()
        conversations = {append.conversation for append in group}
        self._under_way |= conversations
        left: dict[UUID, list[_Append]] = {}
        try:
            with _answering(group):
                left = await self._store(group) if group else {}
        finally:
            self._release(conversations - left.keys())
        for appends in left.values():
            task = asyncio.create_task(self._wait_and_store(appends))
            self._waits.add(task)
            task.add_done_callback(self._waits.discard)

    async def _wait_and_store(self, group: list[_Append]) -> None:
        """Appends to one conversation that could not be stored with the others."""
        try:
            with _answering(group):
                are_let_in = await asyncio.gather(*map(self._is_let_in, group))
                allowed = list(compress(group, are_let_in))
                async with self._waited_for:
                    if allowed:
                        await self._store_alone(allowed)
        finally:
            self._release({group[0].conversation})

    def _release(self, conversations: set[UUID]) -> None:
        """Make ready what has arrived for these conversations in the meantime."""
        self._under_way -= conversations
        self._ready.extend(one for one in conversations if one in self._queues)
        self._rounds.start()

    def _take(self) -> list[_Append]:
        """The next batch: everything that waits for ready conversations, within the limits."""
        group: list[_Append] = []
        rows = size = 0
        while self._ready and rows < _MAX_ROWS and size < _MAX_CHARACTERS:
            queue = self._queues[self._ready[0]]
            while queue and rows < _MAX_ROWS and size < _MAX_CHARACTERS:
                append = queue.popleft()
                if append.done.done():
                    continue  # the caller has disconnected
                group.append(append)
                rows += len(append.drafts)
                size += append.size
            if not queue:
                del self._queues[self._ready[0]]
            self._ready.popleft()
        return group

    async def _store(self, group: list[_Append]) -> dict[UUID, list[_Append]]:
        """Store in one statement; return the appends that it skipped, by conversation."""
        try:
            placed = await self._write(load("append_messages"), group)
        except DATA_FAULTS:
            placed = {}  # one of them is invalid, for example because its id exists
        left: dict[UUID, list[_Append]] = {}
        for append in _finish(group, placed):
            left.setdefault(append.conversation, []).append(append)
        return left

    async def _store_alone(self, group: list[_Append]) -> None:
        """Store appends to one conversation, waiting for its lock."""
        try:
            placed = await self._write(_WAITING, group)
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
        left = _finish(group, placed)
        if len(left) > 1:
            # Some users may no longer write there: try each append on its own.
            for append in left:
                await self._store_alone([append])
        elif left and await self._is_let_in(left[0]):
            _fail(left[0], NotFound("conversation", str(left[0].conversation)))

    async def _is_let_in(self, append: _Append) -> bool:
        """Check access; a refusal goes to the caller."""
        if append.asker is None:
            return True
        try:
            await self._access.enter(Caller(append.asker), str(append.conversation), WRITES)
        except (Refusal, StoreUnavailable) as error:
            _fail(append, error)
            return False
        return True

    async def _write(self, statement: str, group: list[_Append]) -> dict[UUID, Row]:
        given = arguments((one.conversation, one.drafts, one.asker) for one in group)
        found = await self._database.fetch(statement, *given)
        return {row["id"]: row for row in found}


async def append_in(
    connection: asyncpg.Connection, conversation: UUID, drafts: Sequence[Draft]
) -> list[dict[str, Any]]:
    """Append within a larger transaction; the conversation must exist."""
    if not drafts:
        return []
    given = arguments([(conversation, drafts, None)])
    [place] = await connection.fetch(_WAITING, *given)
    first, at = place["next_sequence"], place["at"]
    return [draft.stored(conversation, first + i, at) for i, draft in enumerate(drafts)]


async def stored(database: Database, ids: Sequence[UUID]) -> dict[UUID, Row]:
    """The messages with these ids that exist, in any conversation."""
    rows = await database.fetch(load("find_messages"), list(ids))
    return {row["id"]: row for row in rows}


@contextmanager
def _answering(group: list[_Append]) -> Iterator[None]:
    """Report a failure to all waiting callers."""
    try:
        yield
    except BaseException as error:
        for append in group:
            _fail(append, error)
        if not isinstance(error, Exception):
            raise


def _finish(group: list[_Append], placed: dict[UUID, Row]) -> list[_Append]:
    """Answer the appends that were placed; return the others."""
    left: list[_Append] = []
    next_sequence = {key: row["next_sequence"] for key, row in placed.items()}
    for append in group:
        key = append.conversation
        if key not in placed:
            left.append(append)
            continue
        first, at = next_sequence[key], placed[key]["at"]
        next_sequence[key] += len(append.drafts)
        if not append.done.done():
            append.done.set_result(
                [draft.stored(key, first + i, at) for i, draft in enumerate(append.drafts)]
            )
    return left


def _fail(append: _Append, error: BaseException) -> None:
    if not append.done.done():
        append.done.set_exception(
            error if isinstance(error, Exception) else Unavailable("the server is stopping")
        )
