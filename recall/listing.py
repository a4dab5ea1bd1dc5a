"""A page of memories with statistics, for REST and the dashboard."""

from dataclasses import dataclass
from typing import Any

from recall.memory import Memory
from recall.selection import Selection
from recall.statistics import Statistics, count
from recall.store import MemoryStore


@dataclass(frozen=True)
class Listing:
    """One page, and the totals."""

    memories: list[Memory]
    total: int
    limit: int
    offset: int
    stats: dict[str, Any]

    @property
    def page(self) -> int:
        return self.offset // self.limit + 1

    @property
    def pages(self) -> int:
        return -(-self.total // self.limit)

    def to_json(self) -> dict[str, Any]:
        """The response of `GET /api/memory`."""
        return {
            "data": [memory.to_json() for memory in self.memories],
            "total": self.total,
            "page": self.page,
            "limit": self.limit,
            "totalPages": self.pages,
            "stats": self.stats,
        }


async def list_memories(
    store: MemoryStore,
    statistics: Statistics,
    api_key_id: str | None,
    wanted: Selection,
    *,
    limit: int,
    offset: int,
) -> Listing:
    """The page at `offset` of an owner's memories, or of everybody's (None).

    `wanted` has the conditions; its owners are set here.
    """
    owners = tuple(await store.owners()) if api_key_id is None else (api_key_id,)
    selection = wanted.of(owners)
    if await store.is_browsable() and selection.is_countable:
        memories = await store.list(selection, limit=limit, offset=offset)
        seen = offset + len(memories)
        counted = await statistics.counted(
            selection,
            everybody=api_key_id is None,
            at_least=seen if memories else 0,
            exactly=seen if memories and len(memories) < limit else None,
        )
    else:
        found = await store.scan(selection)
        memories = await store.with_access(found.memories[offset : offset + limit])
        counted = count(found)
    stats = await statistics.report(
        counted, None if api_key_id is None else [api_key_id], wanted.session_id
    )
    return Listing(memories, counted.total, limit, offset, stats)
