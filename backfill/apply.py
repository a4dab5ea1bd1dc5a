"""`-apply`: every row that can be carried is on the plugin when this returns.

With the extension `list` the plugin itself says what it has, so each run compares, and writes what
is missing or different: a killed run continues, a wiped target starts over, a finished copy is
repaired, and no state is needed. Without `list` a journal keeps the state, and is checked against
the target.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from backfill.findings import is_same_time
from backfill.journal import Chunk, Journal, Witness, digest_of, ends_chunk
from backfill.lanes import Lanes
from backfill.mapping import LegacyRow, Rejection, content_of, write_of
from backfill.plan import Plan, Portion
from backfill.probe import Rarity, hash_of, look_for, newest, pick
from backfill.rejects import Rejects
from backfill.run import Run
from backfill.source import describe
from backfill.stream import Stream, merge
from backfill.tally import Tally
from backfill.writer import BatchWriter, Item, OrderedWriter
from contract import MAX_PAGE, BatchWrite, Memory

_PAGE_BYTES = 8 * 1024 * 1024
_MEMORY_BYTES = 1000


async def apply(run: Run, plan: Plan, rejects: Rejects) -> Tally:
    """Copy the selection; raises unless every row is accounted for."""
    tally = Tally(run.reporter, rejects)
    run.reporter.start("apply", plan.rows)
    await run.target.put_namespaces(sorted(set(plan.namespaces.values())))
    if "list" in run.target.extensions:
        await _Comparing(run, plan, tally).run()
    else:
        await _Remembering(run, plan, tally).run()
    run.reporter.finish()
    tally.close(plan.rows)
    return tally


class _Applying:
    """What both modes share."""

    def __init__(self, run: Run, plan: Plan, tally: Tally) -> None:
        self._run = run
        self._plan = plan
        self._tally = tally
        self._batch = "batch" in run.target.extensions
        self._embeddings = "embedding" in run.target.capabilities

    def _scan(self, row: LegacyRow) -> Item | None:
        """Count the row; None if it was rejected."""
        self._tally.scanned += 1
        try:
            return self._item(row)
        except Rejection as reason:
            self._tally.reject(row, str(reason))
            return None

    def _item(self, row: LegacyRow) -> Item:
        namespace = self._plan.namespace_of(row.workspace_id, row.scope)
        return Item(row, write_of(row, namespace, content_of(row), self._run.target.capabilities))


class _Comparing(_Applying):
    """Merge both sides in id order, and write what differs."""

    async def run(self) -> None:
        rows = self._run.rows(self._plan, "slot", embeddings=self._embeddings)
        while (row := await rows.head()) is not None and row.slot is None:
            rows.take()
            self._scan(row)
        async with Lanes(self._run.width) as lanes:
            if self._batch:
                await self._write_in_batches(rows, lanes)
            else:
                await self._write_in_order(rows, lanes)

    async def _write_in_batches(self, rows: Stream[LegacyRow], lanes: Lanes) -> None:
        writer = BatchWriter(self._run.target, lanes, self._tally.wrote, self._tally.reject)
        for slot, portion in enumerate(self._plan.portions):
            async for item in self._unequal(rows, slot, portion):
                await writer.add(item)
        await writer.flush()

    async def _write_in_order(self, rows: Stream[LegacyRow], lanes: Lanes) -> None:
        """Read the rows to write again, oldest first: the merge had them in id order."""
        writer = OrderedWriter(self._run.target, lanes, self._tally.wrote, self._tally.reject)
        for slot, portion in enumerate(self._plan.portions):
            ids = [item.row.id async for item in self._unequal(rows, slot, portion)]
            again = self._run.rows(self._plan, "oldest", ids=ids, embeddings=self._embeddings)
            while page := await again.take_while(lambda _: True, MAX_PAGE):
                await writer.write([self._item(row) for row in page])

    async def _unequal(
        self, rows: Stream[LegacyRow], slot: int, portion: Portion
    ) -> AsyncIterator[Item]:
        async for row, memory in merge(rows, slot, self._there(portion)):
            if row is None:
                continue
            item = self._scan(row)
            if item is None:
                continue
            if memory is None:
                yield item
            elif self._batch and not is_same_time(row.created_at, memory.created_at):
                self._tally.other_times += 1
                yield replace(item, renew=memory.namespace == item.write.namespace)
            elif is_equal(item.write, memory):
                self._tally.found()
            else:
                yield item

    def _there(self, portion: Portion) -> Stream[Memory]:
        if self._run.options.restart:
            return Stream(_nothing())
        size = max(1, min(MAX_PAGE, _PAGE_BYTES // (portion.longest + _MEMORY_BYTES)))
        return Stream(self._run.target.pages(portion.namespaces, "full", size))


class _Remembering(_Applying):
    """Write oldest first, chunk by chunk, and record each chunk in the journal."""

    async def run(self) -> None:
        options = self._run.options
        identity = {
            "source": describe(options.database_url),
            "target": options.plugin_url,
            "selection": str(options.selection),
        }
        with Journal(options.state_dir, identity, restart=options.restart) as journal:
            if journal.done and not await self._is_there(journal):
                self._run.reporter.say(
                    "the target lacks rows that the journal lists as done; starting over"
                )
                journal.forget()
            async with Lanes(self._run.width) as lanes:
                async for items in self._chunks():
                    await self._write(items, journal, lanes)
            journal.finish()

    async def _chunks(self) -> AsyncIterator[list[Item]]:
        rows = self._run.rows(self._plan, "oldest", embeddings=self._embeddings)
        items: list[Item] = []
        size = 0
        while (row := await rows.head()) is not None:
            rows.take()
            item = self._scan(row)
            if item is None:
                continue
            items.append(item)
            size += item.size
            if ends_chunk(row.id, len(items), size):
                yield items
                items, size = [], 0
        if items:
            yield items

    async def _write(self, items: Sequence[Item], journal: Journal, lanes: Lanes) -> None:
        digest = digest_of(items)
        done = journal.done.get(digest)
        if done is not None:
            self._tally.found(done.rows - len(done.rejects))
            for line in done.rejects:
                self._tally.rejects.repeat(line)
            return
        rejected: list[dict[str, Any]] = []

        def reject(row: LegacyRow, reason: str) -> None:
            rejected.append(self._tally.reject(row, reason))

        kind = BatchWriter if self._batch else OrderedWriter
        await kind(self._run.target, lanes, self._tally.wrote, reject).write(items)
        refused = {line["id"] for line in rejected}
        witnesses = {
            item.write.namespace: Witness(item.row.id, hash_of(item.write.content))
            for item in items
            if str(item.row.id) not in refused
        }
        journal.record(Chunk(digest, len(items), rejected), witnesses)

    async def _is_there(self, journal: Journal) -> bool:
        """Whether the newest row that was written to each namespace is still there, unchanged.

        Without `list` there is no cheap way to check more; `-verify` tries harder.
        """
        self._run.reporter.say(
            f"continuing where an earlier run stopped ({journal.path}), if the newest copied row of"
            f" each of {len(journal.witnesses):,} namespaces is there"
        )
        for namespace, witness in journal.witnesses.items():
            memory = pick(await newest(self._run.target, namespace), witness.id)
            memory = memory or await self._look_for(namespace, witness.id)
            if memory is None or hash_of(memory.content) != witness.content_sha256:
                return False
        return True

    async def _look_for(self, namespace: str, id_: UUID) -> Memory | None:
        for row in await self._run.rows_by_id(self._plan, [id_]):
            async for memories in look_for(self._run.target, [namespace], row, Rarity()):
                if memory := pick(memories, id_):
                    return memory
        return None


def is_equal(write: BatchWrite, memory: Memory) -> bool:
    """Whether a write would change anything that the contract shows."""
    return (
        memory.namespace == write.namespace
        and memory.content == write.content
        and memory.kind == write.kind
        and memory.source == write.source
        and (memory.propagation or None) == write.propagation
        and memory.expires_at is None
        and not memory.pin
    )


async def _nothing() -> AsyncIterator[list[Memory]]:
    return
    yield
