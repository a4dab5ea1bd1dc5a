"""From the outbox to the search indexes: words in PostgreSQL, and messages in the plugin.

Only the worker that holds the lock does this. An outbox row is deleted after the plugin has
answered, not before. If the plugin gets a message twice after a crash, it still stores one memory,
because the id is the message's.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from contract import (
    BadRequest,
    BatchFailure,
    BatchWrite,
    Forbidden,
    MemoryClient,
    MemoryPluginError,
    NamespaceUpsert,
    NotFound,
    Unavailable,
)
from conversations.answers import Row
from conversations.embeddings import Embeddings
from conversations.statements import SCHEMA, load
from postgres.database import Database
from serving.metrics import Metrics

_ROWS = 500
_BYTES = 8 * 1024 * 1024
_CHARACTERS = 2 * 1024 * 1024
# The words of these take a second at most on a busy machine; a statement may take five.
WORDS_BYTES = 512 * 1024
_IDLE_SECONDS = 0.2
# Nobody waits for the index, because searches look into the outbox, too. So appends come first:
# while more than this many arrive per second, each round is followed by a rest nine times as long,
# and the index takes a tenth of a core.
_BUSY = 200.0
_REST = 9.0
# A round that is slow because it waits for the plugin or the embedder uses no more CPU.
_LONGEST_REST = 10.0
# How often a rest checks whether the appends have stopped.
_LOOK_SECONDS = 0.5
_ELSEWHERE_SECONDS = 2.0
_LONGEST_PAUSE = 5.0
_NAMESPACES_KNOWN = 100_000
_AT_ONCE = 8

log = logging.getLogger(__name__)


NAMESPACE = "custom:conv:"


def namespace_of(group: UUID) -> str:
    """The plugin's namespace for the messages of a group."""
    return f"{NAMESPACE}{group}"


@dataclass(frozen=True, slots=True)
class _Entry:
    id: int
    group: UUID
    write: BatchWrite


def rest_after(seconds: float) -> float:
    """How long to rest after a round that took this many seconds."""
    return min(max(_IDLE_SECONDS, _REST * seconds), _LONGEST_REST)


class _Arrivals:
    """How fast the outbox fills."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._newest = 0
        self._looked = 0.0

    async def rate(self) -> float:
        """Rows per second since the last call."""
        before, since = self._newest, self._looked
        self._newest = await self._connection.fetchval(load("newest_in_outbox"))
        self._looked = time.monotonic()
        return (self._newest - before) / max(self._looked - since, 1e-9)


class Index:
    """Empties the outbox while `run` is running."""

    def __init__(
        self,
        database: Database,
        plugin: MemoryClient,
        embeddings: Embeddings,
        metrics: Metrics,
    ) -> None:
        self._database = database
        self._plugin = plugin
        self._embeddings = embeddings
        self._known: set[UUID] = set()
        self._told = metrics.counter(
            "outbox_told_total", "Entries sent to the plugin, by action.", ("action",)
        )
        self._refused = metrics.counter("outbox_refused_total", "Messages that the plugin refused.")
        self._waiting = metrics.gauge("outbox_waiting", "Entries not yet sent to the plugin.")

    async def run(self) -> None:
        """Empty the outbox whenever this worker gets the lock."""
        while True:
            async with self._database.connection() as connection:
                lock = SCHEMA.lock("index")
                if await connection.fetchval("SELECT pg_try_advisory_lock($1)", lock):
                    try:
                        await self._work(connection)
                    finally:
                        if not connection.is_closed():
                            await connection.execute("SELECT pg_advisory_unlock($1)", lock)
            await asyncio.sleep(_ELSEWHERE_SECONDS)

    async def _work(self, connection: asyncpg.Connection) -> None:
        away_until = 0.0
        pause = _IDLE_SECONDS
        arrivals = _Arrivals(connection)
        while True:
            began = time.monotonic()
            # On the connection that holds the lock: if it is lost, so is the lock.
            await connection.execute(load("add_words", leave_out="of-user"), _ROWS, WORDS_BYTES)
            rows: list[asyncpg.Record] = []
            if began >= away_until:
                rows = await connection.fetch(load("take_outbox"), _ROWS, _BYTES)
                try:
                    for run in _runs(rows):
                        await self._tell(run)
                    pause = _IDLE_SECONDS
                except Unavailable as error:
                    log.warning("the plugin is unavailable", extra={"reason": type(error).__name__})
                    self._known.clear()
                    pause = min(pause * 2, _LONGEST_PAUSE)
                    away_until = time.monotonic() + pause
                    rows = []
            ended = time.monotonic()
            rate = await arrivals.rate()
            if rate > _BUSY:
                until = ended + rest_after(ended - began)
                while rate > _BUSY and (left := until - time.monotonic()) > 0:
                    await asyncio.sleep(min(left, _LOOK_SECONDS))
                    rate = await arrivals.rate()
            elif not rows:
                await asyncio.sleep(_IDLE_SECONDS)

    async def count(self) -> None:
        """Update the gauge before metrics are served."""
        self._waiting.set(await self._database.fetchval("SELECT count(*) FROM outbox"))

    async def _tell(self, run: Sequence[Row]) -> None:
        """Tell the plugin about rows with the same action."""
        action = run[0]["action"]
        if action == "write":
            await self._write(run)
        elif action == "forget":
            for start in range(0, len(run), _AT_ONCE):
                await asyncio.gather(*(self._forget(row) for row in run[start : start + _AT_ONCE]))
            await self._done([row["id"] for row in run])
        else:
            for row in run:
                await self._drop(row)
                await self._done([row["id"]])
        self._told.labels(action).inc(len(run))

    async def _write(self, rows: Sequence[Row]) -> None:
        # Deleted in the meantime, or without words, such as an image: nothing to index.
        spoken = [row for row in rows if row["content"] is not None and row["content"].strip()]
        entries = await self._entries(spoken)
        silent = {row["id"] for row in rows} - {entry.id for entry in entries}
        await self._done(list(silent))
        groups = list({entry.group for entry in entries} - self._known)
        for start in range(0, len(groups), _AT_ONCE):
            await asyncio.gather(*map(self._make_namespace, groups[start : start + _AT_ONCE]))
        if entries and await self._plugin.supports("batch"):
            entries = await self._write_batch(entries)
        await self._write_each(entries)

    async def _entries(self, rows: Sequence[Row]) -> list[_Entry]:
        vectors = await self._embeddings.of_messages([row["content"] for row in rows])
        return [_entry(row, vector) for row, vector in zip(rows, vectors, strict=True)]

    async def _write_batch(self, entries: list[_Entry]) -> list[_Entry]:
        """Write all in one request; return the entries that failed."""
        try:
            results = await self._plugin.batch([entry.write for entry in entries])
        except BadRequest:
            return entries
        pairs = list(zip(entries, results, strict=True))
        await self._done([e.id for e, result in pairs if not isinstance(result, BatchFailure)])
        return [entry for entry, result in pairs if isinstance(result, BatchFailure)]

    async def _write_each(self, entries: list[_Entry]) -> None:
        """Write each in its own request: in order within a group, several groups at once."""
        queues: dict[UUID, list[_Entry]] = {}
        for entry in entries:
            queues.setdefault(entry.group, []).append(entry)
        written: list[int] = []
        refused: list[int] = []
        limit = asyncio.Semaphore(_AT_ONCE)

        async def write(queue: list[_Entry]) -> None:
            async with limit:
                for entry in queue:
                    is_taken = await self._write_one(entry)
                    (written if is_taken else refused).append(entry.id)

        ends = await asyncio.gather(*map(write, queues.values()), return_exceptions=True)
        if refused:
            self._refused.inc(len(refused))
            log.warning("the plugin refused messages", extra={"messages": len(refused)})
            await self._database.execute(load("refuse_outbox"), refused)
        # What was written before a failure is done, so that repeated failures still make progress.
        await self._done(written)
        failure = next((end for end in ends if isinstance(end, BaseException)), None)
        if failure is not None:
            try:
                raise failure
            finally:
                del failure, ends  # or they would keep themselves, and the messages, in memory

    async def _write_one(self, entry: _Entry) -> bool:
        """Write one message, recreating the namespace if needed; whether the plugin took it."""
        write = entry.write
        for _ in range(3):
            try:
                await self._plugin.write(write.namespace, write)
            except NotFound:
                await self._make_namespace(entry.group)
            except (BadRequest, Forbidden) as error:
                log.info("refused", extra={"status": error.status})
                if write.embedding is None:
                    return False
                # The plugin may expect vectors of another dimension: use words only.
                write = write.model_copy(update={"embedding": None})
            else:
                return True
        return False

    async def _make_namespace(self, group: UUID) -> None:
        try:
            await self._plugin.put_namespace(namespace_of(group), NamespaceUpsert(kind="custom"))
        except (BadRequest, Forbidden) as error:
            # Its messages will be refused one by one; other groups must not wait for that.
            log.warning("the plugin refused a namespace", extra={"status": error.status})
            return
        if len(self._known) >= _NAMESPACES_KNOWN:
            self._known.clear()
        self._known.add(group)

    async def _forget(self, row: Row) -> None:
        try:
            await self._plugin.forget(
                row["message_id"], requested_by_namespace=namespace_of(row["group_id"])
            )
        except Unavailable:
            raise
        except MemoryPluginError:
            pass  # it never had it

    async def _drop(self, row: Row) -> None:
        self._known.discard(row["group_id"])
        with suppress(NotFound):  # it never had it
            await self._plugin.delete_namespace(namespace_of(row["group_id"]))

    async def _done(self, ids: list[int]) -> None:
        if ids:
            await self._database.execute(load("done_outbox"), ids)


def _entry(row: Row, vector: list[float] | None) -> _Entry:
    write = BatchWrite(
        namespace=namespace_of(row["group_id"]),
        content=row["content"],
        kind="fact",
        source="user" if row["role"] == "user" else "agent",
        id=row["message_id"],
        created_at=row["created_at"],
    )
    if vector is not None:
        write = write.model_copy(update={"embedding": vector})
    return _Entry(row["id"], row["group_id"], write)


def _runs(rows: Sequence[Row]) -> list[list[Row]]:
    """Consecutive rows with the same action, split where the texts get too long."""
    runs: list[list[Row]] = []
    size = 0
    for row in rows:
        length = len(row["content"] or "")
        if runs and runs[-1][0]["action"] == row["action"] and size + length <= _CHARACTERS:
            runs[-1].append(row)
            size += length
        else:
            runs.append([row])
            size = length
    return runs
