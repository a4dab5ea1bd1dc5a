"""Usage counts: collected in this worker and added to PostgreSQL every second."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from postgres.database import Database
from postgres.errors import StoreUnavailable
from recall.ledger import STATEMENTS
from recall.memory import now

_SECONDS = 1.0
_MAX_HELD = 100_000


@dataclass(frozen=True)
class Used:
    """Requests that found memories, requests that found none, and tokens injected."""

    hits: int
    misses: int
    tokens_injected: int

    @property
    def hit_rate(self) -> float:
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0


class Usage:
    """This worker's unwritten counts, and access to the totals."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._accesses: Counter[str] = Counter()
        self._accessed_at: datetime | None = None

    def looked(self, owner: str, session_id: str, *, found: bool, tokens: int) -> None:
        """Count a request that looked for memories."""
        self._counts[owner, session_id, "hits" if found else "misses"] += 1
        if tokens:
            self._counts[owner, session_id, "tokens"] += tokens

    def accessed(self, ids: Iterable[str]) -> None:
        """Count memories that were injected or returned by an MCP search."""
        self._accesses.update(ids)
        self._accessed_at = now()

    async def run(self) -> None:
        """Write the counts every second."""
        while True:
            await asyncio.sleep(_SECONDS)
            with contextlib.suppress(StoreUnavailable):
                await self.flush()

    async def flush(self) -> None:
        """Write the counts now; on failure they are kept for the next time."""
        counts, self._counts = self._counts, Counter()
        accesses, self._accesses = self._accesses, Counter()
        accessed_at, self._accessed_at = self._accessed_at, None
        try:
            await self._write(counts, accesses, accessed_at)
        except BaseException:
            if len(self._counts) + len(counts) + len(accesses) < _MAX_HELD:
                self._counts.update(counts)
                self._accesses.update(accesses)
                self._accessed_at = self._accessed_at or accessed_at
            raise

    async def read(self, owners: list[str] | None, session_id: str | None) -> Used:
        """The totals of some owners, or of all."""
        row = await self._database.fetchrow(STATEMENTS.load("read_usage"), owners, session_id)
        if row is None:
            return Used(0, 0, 0)
        return Used(row["hits"], row["misses"], row["tokens_injected"])

    async def _write(
        self,
        counts: Counter[tuple[str, str, str]],
        accesses: Counter[str],
        accessed_at: datetime | None,
    ) -> None:
        if not counts and not accesses:
            return
        places = sorted({(owner, session) for owner, session, _ in counts})
        ids = sorted(accesses)
        async with self._database.transaction() as connection:
            if places:
                await connection.execute(
                    STATEMENTS.load("count_usage"),
                    [owner for owner, _ in places],
                    [session for _, session in places],
                    *(
                        [counts[*place, kind] for place in places]
                        for kind in ("hits", "misses", "tokens")
                    ),
                )
            if ids:
                # One timestamp for all, at most a second late. Strings, since asyncpg takes longer
                # to encode an array than PostgreSQL to split a string.
                await connection.execute(
                    STATEMENTS.load("count_access"),
                    ",".join(ids),
                    ",".join(str(accesses[one]) for one in ids),
                    accessed_at,
                )
