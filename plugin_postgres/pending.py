"""The pending list: new words that are not merged into the word index yet.

PostgreSQL keeps the words of new memories in a list next to the index, which costs little, and
merges them into the index when the list is long, which costs almost as much as the rest of a write.
Every search by words reads the whole list. So it is merged here, in the background: as soon as
somebody searches or writing pauses, and later while there are only writes.
"""

import asyncio
import logging

from plugin_postgres import sql
from plugin_postgres.database import Database
from plugin_postgres.schema import SCHEMA
from postgres.errors import StoreUnavailable

_LOCK = SCHEMA.lock("pending")
_STEP_SECONDS = 0.25
_QUIET_STEPS = 4
# Bytes of text that a worker lets accumulate while it only writes; the list is three times as
# large. Two workers stay below what the index allows: beyond that, a write waits for the merge.
_MUCH = 4 * 1024 * 1024

log = logging.getLogger(__name__)


class PendingList:
    """Merges what the workers have written, for as long as `run` runs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wanted = asyncio.Event()
        self._searched = False
        self._written = 0

    def wrote(self, size: int) -> None:
        """Note that `size` bytes of text have been written."""
        self._written += size
        self._wanted.set()

    def searched(self) -> None:
        """Note that somebody is searching, and may have to read what any worker has written."""
        self._searched = True
        self._wanted.set()

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            await self._until_due()
            self._wanted.clear()
            self._searched = False
            self._written = 0
            try:
                await self.sort_in()
            except StoreUnavailable:
                pass  # logged where it happened; the next write or search tries again
            except Exception:
                log.exception("sorting in new words failed")

    async def _until_due(self) -> None:
        quiet = 0
        while True:
            before = self._written
            await self._step()
            quiet = quiet + 1 if self._written == before else 0
            if self._searched or quiet == _QUIET_STEPS or self._written >= _MUCH:
                return

    async def _step(self) -> None:
        await asyncio.sleep(_STEP_SECONDS)

    async def sort_in(self) -> int:
        """One round; returns how many pages the list had, or 0 if another worker is merging it."""
        pages: int | None = await self._database.fetchval(sql.load("sort_in_pending"), _LOCK)
        return pages or 0
