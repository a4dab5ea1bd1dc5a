"""The status of plugin and embedder: what they support and what is degraded."""

import asyncio
import logging
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

from contract import CONTRACT_VERSION, MemoryPluginError
from postgres.errors import StoreUnavailable
from recall.ledger import Ledger
from recall.memory import HEALTH_NAMESPACE, Memory, now
from recall.plugin import batch_write
from recall.selection import Selection
from recall.store import MemoryStore

log = logging.getLogger(__name__)

# A health check must say that a plugin hangs before the caller gives up.
_HEALTH_SECONDS = 4.0
_PROBE_LIVES = timedelta(hours=1)
_EFFECTS = {
    "fts": "only the newest 100 memories are searched for words",
    "embedding": "memories cannot be found by meaning",
    "propagation": "types, keys, sessions and metadata are lost",
    "ttl": "memories do not expire",
    "batch": "memories are written one by one, and the plugin stores new times for imports",
    "list": "listings, exports and counts cover only the newest 100 memories of an owner",
    "filter": "filters by type and session consider at most 10,000 memories",
    "browse": "listings and counts consider at most 10,000 memories",
    "get": "looking up a memory considers at most 10,000",
}


class Engine:
    """Checks plugin and embedder, and creates missing vectors."""

    def __init__(self, store: MemoryStore, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger

    async def health(self) -> dict[str, Any]:
        """Write, list and delete a test memory that no listing shows."""
        started = time.perf_counter()
        shown: dict[str, Any] = {"working": True}
        try:
            async with asyncio.timeout(_HEALTH_SECONDS):
                await self._round_trip()
        except TimeoutError:
            shown = {"working": False, "error": "Timeout: the plugin did not answer in time"}
        except MemoryPluginError as error:
            shown = {"working": False, "error": _reason(error)}
        return shown | {"latencyMs": _milliseconds(started)}

    async def status(self) -> dict[str, Any]:
        """What works, what does not, and what that means."""
        started = time.perf_counter()
        plugin: dict[str, Any] = {
            "reachable": False,
            "version": None,
            "capabilities": [],
            "extensions": [],
        }
        listed: frozenset[str] = frozenset()
        try:
            health = await self._store.plugin.client.health()
        except MemoryPluginError as error:
            plugin["error"] = _reason(error)
        else:
            plugin |= {
                "reachable": True,
                "version": health.version,
                "capabilities": list(health.capabilities),
                "extensions": list(health.extensions or ()),
            }
            listed = frozenset([*health.capabilities, *(health.extensions or ())])
        plugin["latencyMs"] = _milliseconds(started)
        reachable = plugin["reachable"]
        degraded = [
            {"feature": name, "effect": effect}
            for name, effect in _EFFECTS.items()
            if reachable and name not in listed
        ]
        if not reachable:
            degraded = [{"feature": "plugin", "effect": "requests are forwarded without memory"}]
        if plugin["version"] not in (None, CONTRACT_VERSION):
            effect = f"the plugin implements {plugin['version']}, recall {CONTRACT_VERSION}"
            degraded.append({"feature": "version", "effect": effect})
        embedder = self._store.embedder
        return {
            "plugin": plugin,
            "keyword": {"available": "fts" in listed},
            "embedding": self._embedding(),
            "vectorStore": {
                "available": "embedding" in listed,
                "needsReindex": bool(
                    embedder is not None
                    and "embedding" in listed
                    and await self._lacks_vectors(embedder.model)
                ),
            },
            "degraded": degraded,
        }

    async def reindex_list(self, *, force: bool) -> list[Memory]:
        """The memories without a vector of the embedder's model; with `force`, all of them."""
        embedder = self._store.embedder
        if embedder is None:
            return []
        found = await self._store.scan(Selection(tuple(await self._store.owners())))
        return [it for it in found.memories if force or it.embedded_with != embedder.model]

    async def reindex(self, memories: list[Memory]) -> None:
        """Write memories again, with vectors."""
        for memory in memories:
            try:
                await self._store.touch(memory)
            except (MemoryPluginError, StoreUnavailable) as error:
                log.warning(
                    "a memory could not be reindexed", extra={"reason": type(error).__name__}
                )

    async def _round_trip(self) -> None:
        moment = now()
        memory_id = str(uuid4())
        probe = Memory(
            id=memory_id,
            api_key_id="",
            key="health",
            content="recall writes, lists and deletes this to see that the plugin works",
            created_at=moment,
            updated_at=moment,
            expires_at=moment + _PROBE_LIVES,  # if it cannot be deleted
        )
        plugin = self._store.plugin
        await plugin.write_rows([batch_write(HEALTH_NAMESPACE, probe, probe.propagation())])
        try:
            rows = await plugin.newest_rows(HEALTH_NAMESPACE)
        except MemoryPluginError:
            with suppress(MemoryPluginError):
                await plugin.forget(HEALTH_NAMESPACE, memory_id)
            raise
        await plugin.forget(HEALTH_NAMESPACE, memory_id)
        if memory_id not in {str(row.id) for row in rows}:
            raise MemoryPluginError("the plugin does not list the memories it was given")

    def _embedding(self) -> dict[str, Any]:
        embedder = self._store.embedder
        if embedder is None:
            reason = "no embedder is configured: set embeddingUrl and embeddingModel"
            return {"available": False, "model": None, "reason": reason}
        reason_ = None if embedder.failure is None else f"the last call failed: {embedder.failure}"
        return {"available": reason_ is None, "model": embedder.model, "reason": reason_}

    async def _lacks_vectors(self, model: str) -> bool:
        return await self._ledger.lacks_vectors(model)


def _reason(error: MemoryPluginError) -> str:
    return f"{type(error).__name__}: {error.message}"


def _milliseconds(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)
