"""Background work: completes flushes and deletions, flushes idle buffers, asks for facts."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any

from gateway.deletion import Deletion
from gateway.errors import Unavailable
from gateway.facts import LateFacts
from gateway.flush import Flush
from gateway.statements import load
from postgres.database import Database
from postgres.errors import StoreUnavailable

_PAUSE_SECONDS = 1.0
_HOUR = 3600.0
_AT_ONCE = 3
_MOST_BATCHES = 100

log = logging.getLogger(__name__)


class Chores:
    """Every worker runs them; the session locks keep two from doing the same work."""

    def __init__(
        self, database: Database, flush: Flush, deletion: Deletion, facts: LateFacts, idle: float
    ) -> None:
        self._database = database
        self._flush = flush
        self._deletion = deletion
        self._facts = facts
        self._idle = idle

    async def finish_flushes(self) -> None:
        """Write to the plugin what a flush or an upload has left unfinished."""
        while True:
            due = await self._fetch("due_batches", _MOST_BATCHES)
            all_done = await self._each(
                (row["session"] for row in due), lambda it: self._flush.run(it, take=False)
            )
            # After an outage, many are waiting.
            if len(due) < _MOST_BATCHES or not all_done:
                await asyncio.sleep(_PAUSE_SECONDS)

    async def flush_idle(self) -> None:
        """Flush the buffers that have been idle for longer than `--idle-flush`."""
        if not self._idle:
            return
        pause = min(max(self._idle / 4, 0.2), 5.0)
        while True:
            due = await self._fetch("idle_sessions", timedelta(seconds=self._idle))
            await self._each((row["id"] for row in due), self._flush.run)
            await asyncio.sleep(pause)

    async def finish_deletions(self) -> None:
        """Retry the deletions that the plugin has not confirmed."""
        while True:
            await self._each(await self._fetch("due_deletions", None), self._deletion.carry_out)
            users = await self._fetch("deleted_users")
            await self._each((row["id"] for row in users), self._deletion.empty_user)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def ask_for_facts(self) -> None:
        """Ask the language model for facts in the turns that were flushed."""
        if not self._facts.is_on:
            return
        while True:
            await self._each(await self._fetch("due_questions"), self._facts.ask)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def forget_keys(self) -> None:
        """Delete idempotency keys after two days."""
        while True:
            await self._each([None], lambda _: self._database.execute(load("forget_old_keys")))
            await asyncio.sleep(_HOUR)

    async def _fetch(self, name: str, *arguments: object) -> list[Any]:
        try:
            return await self._database.fetch(load(name), *arguments)
        except StoreUnavailable:
            return []

    async def _each(self, items: Iterable[Any], work: Callable[[Any], Awaitable[object]]) -> bool:
        """A few at a time; what fails is retried in the next round. Whether nothing failed."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def do(item: Any) -> bool:
            async with gate:
                try:
                    await work(item)
                except (Unavailable, StoreUnavailable):
                    return False  # counted and logged where it happened
                except Exception:
                    log.exception("background work failed")
                    return False
                return True

        return all(await asyncio.gather(*map(do, items)))
