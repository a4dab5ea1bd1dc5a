"""Sorted pages, read one at a time with a lookahead, and a merge of two such streams."""

from collections.abc import AsyncIterator, Callable
from typing import Generic, TypeVar

from backfill.mapping import LegacyRow
from contract import Memory, MemoryDigest

Item = TypeVar("Item")
There = TypeVar("There", Memory, MemoryDigest)


class Stream(Generic[Item]):
    """Flattens an async iterator of pages; the next item can be seen before it is taken."""

    def __init__(self, pages: AsyncIterator[list[Item]]) -> None:
        self._pages = pages
        self._page: list[Item] = []
        self._at = 0

    async def head(self) -> Item | None:
        """The next item, without taking it; None at the end."""
        while self._at == len(self._page):
            try:
                self._page = await anext(self._pages)
            except StopAsyncIteration:
                self._page, self._at = [], 0
                return None
            self._at = 0
        return self._page[self._at]

    def take(self) -> None:
        """Move past the head."""
        self._at += 1

    async def take_while(self, wanted: Callable[[Item], bool], most: int) -> list[Item]:
        """Up to `most` consecutive items from the head on that are wanted."""
        taken: list[Item] = []
        while len(taken) < most and (item := await self.head()) is not None and wanted(item):
            taken.append(item)
            self.take()
        return taken


async def merge(
    rows: Stream[LegacyRow], slot: int, there: Stream[There]
) -> AsyncIterator[tuple[LegacyRow | None, There | None]]:
    """The rows of one slot paired with what the plugin has, both in id order, each once.

    A pair has the same id on both sides; None stands for the side that does not have it.
    """
    while True:
        row = await rows.head()
        if row is not None and row.slot != slot:
            row = None
        memory = await there.head()
        if row is None and memory is None:
            return
        if memory is None or (row is not None and row.id.int < memory.id.int):
            rows.take()
            yield row, None
        elif row is None or memory.id.int < row.id.int:
            there.take()
            yield None, memory
        else:
            rows.take()
            there.take()
            yield row, memory
