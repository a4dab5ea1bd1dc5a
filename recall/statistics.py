"""The statistics of a listing: memories by type, their size, their use.

Counting takes a plugin longer the more rows there are. So counts are cached until something changes
or expires, and for at most a second, because rows may also come from elsewhere.
"""

import time
from dataclasses import dataclass
from typing import Any

from recall.ledger import Ledger
from recall.memory import MEMORY_TYPES, Memory, now
from recall.plugin import Scan
from recall.selection import Selection
from recall.store import MemoryStore
from recall.tokens import estimate_tokens
from recall.usage import Usage

_FRESH_SECONDS = 1.0
_MAX_KEPT = 256


@dataclass(frozen=True)
class Counted:
    """How many memories match, by type, and how many tokens they have."""

    by_type: dict[str, int]
    tokens: int
    truncated: bool = False

    @property
    def total(self) -> int:
        return sum(self.by_type.values())


@dataclass(frozen=True)
class _Kept:
    counted: Counted
    edits: int
    until: float


class Statistics:
    """Counts for listings."""

    def __init__(self, store: MemoryStore, ledger: Ledger, usage: Usage) -> None:
        self._store = store
        self._ledger = ledger
        self._usage = usage
        self._kept: dict[tuple[Selection, bool], _Kept] = {}

    async def counted(
        self,
        selection: Selection,
        *,
        everybody: bool,
        at_least: int = 0,
        exactly: int | None = None,
    ) -> Counted:
        """Count what matches; the listing has shown that there are `at_least`, or `exactly`, N."""
        if not await self._store.is_browsable() or not selection.is_countable:
            return count(await self._store.scan(selection))
        edits = await self._ledger.edits()
        place = (selection, everybody)
        kept = self._kept.get(place)
        if (
            kept is not None
            and kept.edits == edits
            and time.monotonic() < kept.until
            and kept.counted.total >= at_least
            and exactly in (None, kept.counted.total)
        ):
            return kept.counted
        counted, seconds = await self._count(selection, everybody=everybody)
        if len(self._kept) >= _MAX_KEPT:
            self._kept.clear()
        self._kept[place] = _Kept(counted, edits, time.monotonic() + seconds)
        return counted

    async def report(
        self, counted: Counted, owners: list[str] | None, session_id: str | None
    ) -> dict[str, Any]:
        """The object `stats` of REST."""
        used = await self._usage.read(owners, session_id)
        return {
            "total": counted.total,
            "byType": {name: counted.by_type.get(name, 0) for name in MEMORY_TYPES},
            "tokensUsed": counted.tokens,
            "tokensInjected": used.tokens_injected,
            "hitRate": used.hit_rate,
            "cacheStats": {"hits": used.hits, "misses": used.misses},
            "truncated": counted.truncated,
        }

    async def _count(self, selection: Selection, *, everybody: bool) -> tuple[Counted, float]:
        """The counts, and for how many seconds they are valid."""
        by_type = await self._store.plugin.count_types(selection)
        sizes = await self._ledger.sizes(selection, everybody=everybody)
        seconds = _FRESH_SECONDS
        if sizes.until is not None:
            seconds = min(seconds, (sizes.until - now()).total_seconds())
        if sizes.count == sum(by_type.values()):
            return Counted(by_type, sizes.tokens), seconds
        # Some rows were not written by recall, so their contents have to be read.
        found = await self._store.scan(selection)
        return Counted(by_type, _tokens(found.memories), found.truncated), seconds


def count(found: Scan) -> Counted:
    """The counts of a scan."""
    by_type: dict[str, int] = {}
    for memory in found.memories:
        by_type[memory.type] = by_type.get(memory.type, 0) + 1
    return Counted(by_type, _tokens(found.memories), found.truncated)


def _tokens(memories: list[Memory]) -> int:
    return sum(estimate_tokens(memory.content) for memory in memories)
