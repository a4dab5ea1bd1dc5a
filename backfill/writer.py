"""Turns rows into writes: in batches if the plugin supports them, else one by one in order."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from backfill.errors import ConfigurationError, TargetBroken, TargetReplaced
from backfill.lanes import Lanes
from backfill.mapping import LegacyRow, single_of
from backfill.rejects import refusal
from backfill.target import Target, is_unavailable
from contract import (
    MAX_WRITES,
    BadRequest,
    BatchFailure,
    BatchWrite,
    Forbidden,
    MemoryPluginError,
    MemoryWriteResponse,
    NotFound,
    Unavailable,
)

BATCH_BYTES = 2 * 1024 * 1024
_WRITE_BYTES = 600
_TRIES = 3
_FORGETS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Item:
    """A row and its write."""

    row: LegacyRow
    write: BatchWrite
    renew: bool = False
    """The plugin has it with another `created_at`, which can only be corrected by a new memory."""

    @property
    def size(self) -> int:
        """About how many bytes it takes on the wire."""
        return len(self.row.content or b"") + len(self.row.embedding or "") + _WRITE_BYTES


@dataclass
class Writer:
    """Sends items; each ends with `wrote` or with `reject`, and nothing else."""

    target: Target
    lanes: Lanes
    wrote: Callable[[LegacyRow], None]
    reject: Callable[[LegacyRow, str], object]

    def _accept(self, item: Item, answer: MemoryWriteResponse) -> None:
        if answer.id != item.write.id or answer.namespace != item.write.namespace:
            raise TargetBroken(
                f"the plugin stored {item.write.id} of {item.write.namespace} as {answer.id}"
                f" of {answer.namespace}: it does not keep MemoryWrite.id, so running this"
                " again would duplicate every row"
            )
        self.wrote(item.row)

    def _refuse(self, item: Item, status: int, message: str) -> None:
        if status == NotFound.default_status:
            raise TargetReplaced(
                f"the namespace {item.write.namespace} is gone although it was just made: the"
                " target was wiped or replaced; run the same command again, it starts over"
            )
        self.reject(item.row, refusal(status, message, item.write.content))


@dataclass
class BatchWriter(Writer):
    """Many writes per request, several requests at a time, in no particular order."""

    _batch: list[Item] = field(default_factory=list)
    _bytes: int = 0
    _most_bytes: int = BATCH_BYTES

    async def add(self, item: Item) -> None:
        """Send it with the next batch."""
        if self._batch and (
            len(self._batch) == MAX_WRITES or self._bytes + item.size > self._most_bytes
        ):
            await self._send_off()
        self._batch.append(item)
        self._bytes += item.size

    async def write(self, items: Sequence[Item]) -> None:
        """Send these, and return when each is settled."""
        for item in items:
            await self.add(item)
        await self.flush()

    async def flush(self) -> None:
        """Return when everything that was added is settled."""
        await self._send_off()
        await self.lanes.join()

    async def _send_off(self) -> None:
        batch, self._batch, self._bytes = self._batch, [], 0
        if batch:
            await self.lanes.start(self._send(batch))

    async def _send(self, items: list[Item]) -> None:
        tries = 0
        while items:
            tries += 1
            items = await self._send_once(items, is_last=tries >= _TRIES)

    async def _send_once(self, items: list[Item], *, is_last: bool) -> list[Item]:
        """Settle what can be settled; returns what has to be sent again."""
        writes = [item.write for item in items]
        try:
            answers = await self.target.batch(writes)
        except NotFound as error:
            raise TargetBroken(
                f"the plugin lists the extension batch and answers {error.status} to it"
            ) from None
        except Forbidden as error:
            raise ConfigurationError(f"the plugin forbids the batch: {error}") from None
        except (BadRequest, Unavailable) as error:
            await self._halve(items, error)
            return []
        again, renewed = [], []
        for item, answer in zip(items, answers, strict=True):
            if isinstance(answer, MemoryWriteResponse) and item.renew:
                renewed.append(replace(item, renew=False))
            elif isinstance(answer, MemoryWriteResponse):
                self._accept(item, answer)
            elif is_unavailable(answer) or (answer.error.code == "internal" and not is_last):
                again.append(item)
            else:
                self._refuse(item, _status(answer), answer.error.message)
        await self._forget(renewed)
        return again + renewed

    async def _forget(self, items: Sequence[Item]) -> None:
        """Delete what is rewritten next.

        The plugin has just accepted the same write, so it will not refuse it once the memory is
        gone. A run that is killed here leaves rows missing; the next one writes them.
        """
        async with Lanes(_FORGETS_AT_ONCE) as lanes:
            for item in items:
                await lanes.start(self.target.forget(item.write.namespace, item.row.id))

    async def _halve(self, items: list[Item], error: MemoryPluginError) -> None:
        """The whole request failed: find the writes that caused it."""
        if len(items) == 1:
            self._refuse(items[0], error.status, str(error))
            return
        if error.status == 413:
            total = sum(item.size for item in items)
            self._most_bytes = min(self._most_bytes, max(total // 2, 1))
        middle = len(items) // 2
        await self._send(items[:middle])
        await self._send(items[middle:])


class OrderedWriter(Writer):
    """One write per request, in the given order within a namespace, several namespaces at a time.

    A namespace's next write waits for the answer to the last: without `created_at`, newest-first
    reads depend on the order of the writes.
    """

    async def write(self, items: Sequence[Item]) -> None:
        """Send these, and return when each is settled."""
        chains: defaultdict[str, list[Item]] = defaultdict(list)
        for item in items:
            chains[item.write.namespace].append(item)
        # The longest first: it decides when all are done.
        for chain in sorted(chains.values(), key=len, reverse=True):
            await self.lanes.start(self._write_chain(chain))
        await self.lanes.join()

    async def _write_chain(self, chain: Sequence[Item]) -> None:
        for item in chain:
            await self._write_one(item)

    async def _write_one(self, item: Item) -> None:
        try:
            answer = await self.target.write(item.write.namespace, single_of(item.write))
        except (BadRequest, Forbidden, NotFound, Unavailable) as error:
            self._refuse(item, error.status, str(error))
        else:
            self._accept(item, answer)


def _status(answer: BatchFailure) -> int:
    return {
        "bad_request": 400,
        "forbidden": 403,
        "not_found": 404,
        "internal": 500,
        "unavailable": 503,
    }[answer.error.code]
