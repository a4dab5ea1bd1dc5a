"""The TTL janitor: deletes what expired longer than a grace period ago, in small batches.

Readers never see what has expired, so nothing here is urgent, and until the grace period is over a
wrong TTL can be undone. One worker does this at a time, whichever gets the lock.
"""

import asyncio
import logging
from datetime import timedelta

from plugin_postgres import namespaces, sql
from plugin_postgres.database import Database
from plugin_postgres.metrics import Metrics
from plugin_postgres.schema import SCHEMA
from plugin_postgres.settings import Settings
from postgres.errors import StoreUnavailable

_LOCK = SCHEMA.lock("janitor")
# A pause between batches, so that the janitor never takes up the whole store.
_PAUSE_SECONDS = 0.05
# Longer ago than anything can have expired; deleted rows have -infinity.
_DELETED_ONLY = timedelta(days=365_000)

log = logging.getLogger(__name__)


class Janitor:
    """Deletes expired memories and namespaces, for as long as `run` runs."""

    def __init__(self, database: Database, metrics: Metrics, settings: Settings) -> None:
        self._database = database
        self._metrics = metrics
        self._interval = settings.janitor_interval
        # The calendar ends: a longer period than any memory's age is as good as endless.
        longest = _DELETED_ONLY.total_seconds()
        self._grace = timedelta(seconds=min(settings.janitor_grace, longest))
        self._batch = settings.janitor_batch

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            try:
                await self.clean()
            except StoreUnavailable:
                pass  # logged where it happened; the next round tries again
            except Exception:
                log.exception("janitor failed")

    async def clean(self) -> bool:
        """One round; False if another worker is doing it."""
        async with self._database.connection() as connection:
            if not await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
                return False
            try:
                over = await connection.fetchval(sql.load("may_delete_expired"), self._grace)
                grace = self._grace if over else _DELETED_ONLY
                memories = await self._delete_memories(grace)
                emptied, gone = await self._delete_namespaces(grace)
            finally:
                await connection.execute("SELECT pg_advisory_unlock($1)", _LOCK)
        self._metrics.expired.labels("memories").inc(memories + emptied)
        self._metrics.expired.labels("namespaces").inc(gone)
        if memories or emptied or gone:
            log.info("expired", extra={"memories": memories + emptied, "namespaces": gone})
        return True

    async def _delete_memories(self, grace: timedelta) -> int:
        deleted = 0
        while True:
            gone = await self._database.execute(
                sql.load("delete_expired_memories"), grace, self._batch
            )
            deleted += gone
            if gone < self._batch:
                return deleted
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _delete_namespaces(self, grace: timedelta) -> tuple[int, int]:
        emptied = deleted = 0
        found = await self._database.fetch(sql.load("find_expired_namespaces"), grace, self._batch)
        for row in found:
            name = row["name"]
            emptied += await namespaces.empty(self._database, name, grace, self._batch)
            deleted += await namespaces.remove(self._database, name, grace)
        return emptied, deleted
