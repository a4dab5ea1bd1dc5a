"""The components of one worker: plugin, database, upstream, and what is built on them."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from contract import Breaker, MemoryClient, MemoryPluginError
from language.embedder import Embedder
from postgres.codecs import json_as_python
from postgres.database import Database
from postgres.errors import StoreUnavailable
from recall.configuration import Configuration
from recall.engine import Engine
from recall.janitor import Janitor
from recall.keys import Keys
from recall.learning import Learner
from recall.ledger import STATEMENTS, Ledger
from recall.listing import Listing, list_memories
from recall.recollection import Recollection
from recall.selection import Selection
from recall.settings import Settings
from recall.statistics import Statistics
from recall.store import MemoryStore
from recall.summarisation import Runs, Summariser
from recall.upstream import Upstream
from recall.usage import Usage
from recall.watch import Watch
from serving.background import background
from serving.metrics import Metrics

SCHEMA_NAME = "memory_recall"
# A plugin must be used again within five seconds of its return.
_BREAKER_REST = 1.0

log = logging.getLogger(__name__)


class Worker:
    """Everything that request handlers share."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings = settings
        self.metrics = metrics
        self.database = Database(
            settings, name="memory-recall", search_path=SCHEMA_NAME, prepare=json_as_python
        )
        breaker = Breaker(rest=_BREAKER_REST)
        self.client = _client(settings, breaker)
        # Requests have no time for retries.
        self._hasty_client = _client(settings, breaker, attempts=1)
        self.ledger = Ledger(self.database, writers=max(1, settings.pool_size // 2))
        self.store = MemoryStore(self.client, self.ledger)
        self._hasty_store = MemoryStore(self._hasty_client, self.ledger)
        self.usage = Usage(self.database)
        self.watch = Watch(self.database, self._configured)
        self.keys = Keys(self.database)
        self.statistics = Statistics(self.store, self.ledger, self.usage)
        self.engine = Engine(self.store, self.ledger)
        self.runs = Runs(self.database)
        self.summariser = Summariser(self.store, self.runs)
        self.learner = Learner(self.store, self.watch, metrics)
        self.recollection = Recollection(
            self._hasty_store, self.watch, self.usage, dev_auth=settings.dev_auth
        )
        self.janitor = Janitor(self.ledger, self.runs)
        self.upstream = (
            None
            if settings.upstream_url is None
            else Upstream(settings.upstream_url, timeout=settings.upstream_timeout)
        )
        self._old_embedders: list[Embedder] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open connections and run background tasks; on exit, finish learning."""
        await self.database.open()
        try:
            async with background(self.learner.run, self.usage.run, self.janitor.run):
                yield
                await self.learner.drain()
                await self.recollection.aclose()
                try:
                    await self.usage.flush()
                except StoreUnavailable:
                    log.warning("the last second of usage could not be recorded")
        finally:
            await self.watch.aclose()
            if self.upstream is not None:
                await self.upstream.aclose()
            for embedder in [*self._old_embedders, self.store.embedder]:
                if embedder is not None:
                    await embedder.aclose()
            await self.client.aclose()
            await self._hasty_client.aclose()
            await self.database.close()

    async def configuration(self) -> Configuration:
        """The current settings; raises `StoreUnavailable`."""
        return await self.watch.configuration()

    async def change_configuration(self, changes: dict[str, Any]) -> Configuration:
        """Store validated settings; they apply to the next request on any worker."""
        await self.database.fetchrow(STATEMENTS.load("put_settings"), changes)
        return await self.watch.configuration()

    async def listing(
        self, api_key_id: str | None, wanted: Selection, *, limit: int, offset: int
    ) -> Listing:
        """A page of memories with statistics."""
        return await list_memories(
            self.store, self.statistics, api_key_id, wanted, limit=limit, offset=offset
        )

    async def is_plugin_up(self) -> bool:
        """Whether the plugin answers."""
        try:
            await self.client.health(timeout=2.0)
        except MemoryPluginError:
            return False
        return True

    def _configured(self, configuration: Configuration) -> None:
        """Replace the embedder if the settings require it."""
        url, model = configuration.embeddingUrl, configuration.embeddingModel
        current = self.store.embedder
        if url is None or model is None:
            wanted = None
        elif current is not None and (current.url, current.model) == (url, model):
            wanted = current
        else:
            wanted = Embedder(url, model, self.settings.embedding_key, proxies=True)
        if current is not None and current is not wanted:
            self._old_embedders.append(current)  # it may still be in use
        self.store.embedder = self._hasty_store.embedder = wanted


def _client(settings: Settings, breaker: Breaker, attempts: int = 3) -> MemoryClient:
    return MemoryClient(
        settings.plugin_url,
        token=settings.plugin_token,
        timeout=5.0,
        attempts=attempts,
        refresh=10.0,
        breaker=breaker,
    )
