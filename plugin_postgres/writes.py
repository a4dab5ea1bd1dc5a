"""The write queue: many callers, one statement, one commit.

All writes that arrive while a statement runs go into the next one, and each caller gets an answer
after the commit of its own. Of several writes with the same id the last one wins; if it names
another namespace than the ones before it, it waits for the next statement, which then finds the id
taken. A row that the database refuses is found by bisection and fails alone. Single writes go
before those of a batch, so that a migration does not keep agents waiting.
"""

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from uuid import UUID

import asyncpg

from contract import BadRequest, Forbidden, MemoryPluginError, NotFound, Unavailable
from plugin_postgres import sql
from plugin_postgres.database import Database
from plugin_postgres.metrics import Metrics
from plugin_postgres.pending import PendingList
from plugin_postgres.route import unavailable
from postgres.connection import DATA_FAULTS
from postgres.errors import StoreUnavailable

_MAX_ROWS = 1000
# Long texts take the database about a second per megabyte, and a statement has little time.
_MAX_BYTES = 512 * 1024
_MAX_WAITING_BYTES = 64 * 1024 * 1024
# Two, so that a migration keeps more than one process of the database busy, and no agent waits
# behind a long text. Little more than that waits for the statement that runs and goes into the next
# one as a whole: a statement and a commit for each memory would cost more than the memory.
_LANES = 2
_WORTH_A_LANE = 64 * 1024
_ATTEMPTS = 5
# Turns of the event loop in which those who were just answered can come back, to share the next
# statement with those who wait for it: a statement costs as much as several of its rows.
_TURNS = 4

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Write:
    """A memory to be written, checked and in the form in which it is stored."""

    id: UUID
    namespace: str
    content: str
    kind: str
    source: str
    expires_at: datetime | None
    propagation: str | None
    pin: bool
    created_at: datetime | None
    embedding: bytes | None
    size: int = 0
    done: "asyncio.Future[None]" = field(default_factory=lambda: _future())


# The fields of every memory, and those that few have, in the order of the statements' parameters.
_PLAIN = ("id", "namespace", "content", "kind", "source")
_RARE = ("expires_at", "propagation", "pin", "created_at", "embedding")
_ROW = attrgetter(*_PLAIN, *_RARE)


Outcomes = dict[UUID, MemoryPluginError | None]
"""The error of each write, by its id; None if it succeeded."""


def _future() -> "asyncio.Future[None]":
    return asyncio.get_running_loop().create_future()


class WriteQueue:
    """Collects writes and sends them to the database in groups."""

    def __init__(
        self, database: Database, pending: PendingList, metrics: Metrics, *, limit: int
    ) -> None:
        self._database = database
        self._pending = pending
        self._metrics = metrics
        self._limit = limit
        self._single: deque[Write] = deque()
        self._bulk: deque[Write] = deque()
        self._waiting_bytes = 0
        self._under_way: set[UUID] = set()
        self._bytes_under_way = 0
        self._lanes: set[asyncio.Task[None]] = set()

    def submit(self, write: Write) -> "asyncio.Future[None]":
        """Await the result: it is done after the commit, or raises the caller's error."""
        self._enqueue([write], self._single)
        return write.done

    def submit_all(self, writes: list[Write]) -> None:
        """The writes of a batch, all or none; each has its own `done`."""
        self._enqueue(writes, self._bulk)

    def _enqueue(self, writes: list[Write], queue: deque[Write]) -> None:
        waiting = len(self._single) + len(self._bulk)
        size = sum(write.size for write in writes)
        # An idle queue accepts everything that one request may contain.
        if waiting and (
            waiting + len(writes) > self._limit or self._waiting_bytes + size > _MAX_WAITING_BYTES
        ):
            raise Unavailable("too many writes are waiting", retry_after=1)
        queue.extend(writes)
        self._waiting_bytes += size
        worth = self._waiting_bytes + self._bytes_under_way >= _WORTH_A_LANE
        for _ in range((_LANES if worth else 1) - len(self._lanes)):
            self._lanes.add(asyncio.create_task(self._work()))

    async def drain(self) -> None:
        """Return when nothing is waiting or under way."""
        while self._lanes:
            await asyncio.wait(self._lanes)

    async def _work(self) -> None:
        try:
            # An empty group: what waits has an id that the other lane is writing; that one goes on.
            while group := self._take():
                await self._write_group(group)
                if len(group) > 1:
                    for _ in range(_TURNS):
                        await asyncio.sleep(0)
        finally:
            # In the same step as the last check of the queue: the next write starts a new lane.
            self._lanes.discard(asyncio.current_task())

    async def _write_group(self, group: list[Write]) -> None:
        try:
            await self._write_in_order(group)
        except StoreUnavailable as error:
            self._fail_all(group, unavailable(error))
        except Unavailable as error:
            self._fail_all(group, error)
        except BaseException as error:
            _fail(group, Unavailable("the write was aborted", retry_after=1))
            if not isinstance(error, Exception):
                raise
            log.exception("write failed")
        finally:
            self._under_way.difference_update(write.id for write in group)
            self._bytes_under_way -= sum(write.size for write in group)

    def _fail_all(self, group: list[Write], error: Unavailable) -> None:
        """Later ones would only wait for the same failure."""
        _fail([*group, *self._single, *self._bulk], error)
        self._single.clear()
        self._bulk.clear()
        self._waiting_bytes = 0

    def _take(self) -> list[Write]:
        """The next group. An id that is being written has to wait: its last write must be last."""
        group: list[Write] = []
        size = 0
        for queue in (self._single, self._bulk):
            held: list[Write] = []
            while queue and len(group) < _MAX_ROWS:
                if queue[0].id in self._under_way:
                    held.append(queue.popleft())
                    continue
                if group and size + queue[0].size > _MAX_BYTES:
                    break
                group.append(queue.popleft())
                size += group[-1].size
            queue.extendleft(reversed(held))
        self._waiting_bytes -= size
        self._bytes_under_way += size
        self._under_way.update(write.id for write in group)
        return group

    async def _write_in_order(self, writes: list[Write]) -> None:
        """One statement, or more where an id is claimed by more than one namespace."""
        while writes:
            claims: dict[UUID, Write] = {}
            now: list[Write] = []
            later: list[Write] = []
            for write in writes:
                claim = claims.get(write.id)
                if claim is not None and claim.namespace != write.namespace:
                    later.append(write)
                    continue
                # The first of them created the memory; the others replace everything except that.
                made = write.created_at if claim is None else claim.created_at
                claims[write.id] = write if claim is None else replace(write, created_at=made)
                now.append(write)
            outcomes = await self._write_distinct(list(claims.values()))
            for write in now:
                _answer(write, outcomes[write.id])
            writes = later

    async def _write_distinct(self, writes: list[Write]) -> Outcomes:
        """Write rows with distinct ids."""
        outcomes: Outcomes = {}
        for _ in range(_ATTEMPTS):
            try:
                written = await self._insert(writes)
            except asyncpg.ForeignKeyViolationError:
                continue  # a namespace was deleted meanwhile; the next statement sees it
            except DATA_FAULTS as error:
                return outcomes | await self._isolate(writes, error)
            outcomes |= dict.fromkeys(written)
            if len(written) == len(writes):
                return outcomes
            outcomes |= await self._explain([w for w in writes if w.id not in written])
            writes = [write for write in writes if write.id not in outcomes]
            if not writes:
                return outcomes
        raise Unavailable("the namespace is changing too fast", retry_after=1)

    async def _insert(self, writes: list[Write]) -> set[UUID]:
        columns = list(zip(*map(_ROW, writes), strict=True))
        embedding = self._database.serves_vectors
        if any(map(any, columns[len(_PLAIN) :])):
            statement = sql.load("write_memories", embedding=embedding)
            columns = columns if embedding else columns[:-1]
        else:
            statement = sql.load("write_plain_memories", embedding=embedding)
            columns = columns[: len(_PLAIN)]
        self._metrics.write_batch_rows.observe(len(writes))
        rows = await self._database.fetch(statement, *columns)
        self._pending.wrote(sum(len(write.content) for write in writes))
        return {row["id"] for row in rows}

    async def _isolate(self, writes: list[Write], error: Exception) -> Outcomes:
        if len(writes) == 1:
            log.warning("the store refused a write", extra={"reason": type(error).__name__})
            return {writes[0].id: BadRequest("content: the store cannot hold this memory")}
        middle = len(writes) // 2
        first = await self._write_distinct(writes[:middle])
        return first | await self._write_distinct(writes[middle:])

    async def _explain(self, writes: list[Write]) -> Outcomes:
        """Why these changed nothing; one for which there is no reason any more is left out."""
        found = await self._database.fetch(
            sql.load("find_owners"),
            [write.id for write in writes],
            [write.namespace for write in writes],
        )
        outcomes: Outcomes = {}
        for write, row in zip(writes, found, strict=True):
            if not row["namespace_lives"]:
                outcomes[write.id] = NotFound(
                    f"namespace {write.namespace} does not exist; PUT it first"
                )
            elif row["owner"] == write.namespace:
                outcomes[write.id] = None  # it is there already, just as the write wants it
            elif row["owner"] is not None:
                outcomes[write.id] = Forbidden("id: this memory belongs to another namespace")
        return outcomes


def _answer(write: Write, fault: MemoryPluginError | None) -> None:
    if write.done.done():  # its caller is gone
        return
    if fault is None:
        write.done.set_result(None)
    else:
        write.done.set_exception(fault)


def _fail(writes: list[Write], error: MemoryPluginError) -> None:
    for write in writes:
        _answer(write, error)
