"""Builds vector indexes in the background, one worker at a time, when few writes arrive.

An index slows down every write that it covers, so a running migration may finish first.
"""

import asyncio
import logging

import asyncpg

from plugin_postgres import pgvector, sql, vectors
from plugin_postgres.database import NAME, Database
from plugin_postgres.schema import SCHEMA
from plugin_postgres.settings import Settings
from postgres.connection import STORE_FAULTS, close, connect

_LOCK = SCHEMA.lock("indexes")
_INTERVAL_SECONDS = 60.0
# Building in parallel needs shared memory that containers rarely have.
_SESSION = "SET maintenance_work_mem = '512MB'; SET max_parallel_maintenance_workers = 0"

log = logging.getLogger(__name__)


class Indexer:
    """Indexes the dimensions that are worth it, for as long as `run` runs."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._inserted: int | None = None

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_INTERVAL_SECONDS)
            try:
                await self.build_when_calm()
            except STORE_FAULTS as error:
                # The store is down, or went down in the middle; the next round tries again.
                log.warning("indexing failed", extra={"reason": type(error).__name__})

    async def build_when_calm(self) -> list[int]:
        """One round; returns the dimensions that were indexed."""
        if not self._database.serves_vectors:
            return []
        # Not from the pool: building takes longer than a pooled statement may.
        connection = await connect(self._settings, name=NAME)
        try:
            if not await self._is_calm(connection):
                return []
            if not await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
                return []
            await connection.execute(
                f"{_SESSION}; SET search_path = {await pgvector.search_path(connection)}"
            )
            return await vectors.build_indexes(connection)
        finally:
            await close(connection)

    async def _is_calm(self, connection: asyncpg.Connection) -> bool:
        """Whether the table has grown by less than a tenth since the last round."""
        [seen] = await connection.fetch(sql.load("count_inserted"))
        before = self._inserted
        self._inserted = seen["inserted"]
        return before is not None and (seen["inserted"] - before) * 10 <= seen["alive"]
