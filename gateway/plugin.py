"""The plugin as the gateway uses it: any plugin of the contract, with or without extensions."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import NoneType
from typing import Any
from uuid import UUID

import orjson

from contract import (
    MAX_LIMIT,
    BadRequest,
    BatchFailure,
    BatchResponse,
    Breaker,
    Capability,
    ContractViolation,
    MemoryClient,
    MemoryKind,
    MemoryPluginError,
    MemorySource,
    MemoryWrite,
    NamespaceUpsert,
    NotFound,
    NotSupported,
    SearchRequest,
    SearchResponse,
    Unavailable,
    format_time,
)
from contract.wire import read_answer
from gateway.metrics import Numbers
from gateway.names import SessionName

# The breaker never opens, so that a plugin that is back is used at once.
_NEVER = 2**31
_READ_SECONDS = 4.0
_WRITE_SECONDS = 8.0
_HEALTH_SECONDS = 2.0
_WRITES_AT_ONCE = 100
_SINGLE_WRITES_AT_ONCE = 8
_SEARCHES_AT_ONCE = 8
# For one search: the limit of the reference plugin. Smaller groups would cost more in total.
_MOST_NAMESPACES = 5_000

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_KINDS: dict[str, tuple[MemoryKind, MemorySource]] = {
    "turn": ("summary", "runtime"),
    "fact": ("fact", "user"),
    "chunk": ("fact", "user"),
}


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A memory to be written to the plugin."""

    id: UUID
    type: str
    created_at: datetime
    text: str = field(repr=False)
    embedding: list[float] | None = field(default=None, repr=False)


Found = tuple[str, str, float]
"""A memory that a search found: its id, its text, its score."""


class Plugin:
    """One plugin. Its failures are raised as the exceptions of `contract`."""

    def __init__(
        self, url: str, token: str | None, numbers: Numbers, client: MemoryClient | None = None
    ) -> None:
        self._client = client or MemoryClient(
            url, token=token, timeout=_READ_SECONDS, breaker=Breaker(failures=_NEVER)
        )
        self._numbers = numbers
        self._most_namespaces = _MOST_NAMESPACES

    async def aclose(self) -> None:
        await self._client.aclose()

    async def is_up(self) -> bool:
        try:
            health = await self._client.health(timeout=_HEALTH_SECONDS)
        except MemoryPluginError:
            return False  # or it rejects our token
        return health.status == "ok"

    async def write(
        self, session: SessionName, namespace: str, memories: Sequence[Unwritten], *, is_new: bool
    ) -> set[UUID]:
        """Write memories; returns the ids of those that the plugin did not refuse.

        `is_new` means that the namespace may not exist yet.
        """
        if is_new:
            await self._make(session, namespace)
        if any(it.embedding for it in memories) and not await self._understands("embedding"):
            memories = [replace(it, embedding=None) for it in memories]
        written = set[UUID]()
        for start in range(0, len(memories), _WRITES_AT_ONCE):
            part = memories[start : start + _WRITES_AT_ONCE]
            try:
                written |= await self._write_part(session, namespace, part)
            except NotFound:
                # The namespace was deleted in the plugin: create it again, once.
                await self._make(session, namespace)
                written |= await self._write_part(session, namespace, part)
        return written

    async def forget(self, namespace: str, memory_id: UUID) -> None:
        """Delete a memory, if the plugin has it."""
        with suppress(NotFound):
            await self._client.forget(
                memory_id, requested_by_namespace=namespace, timeout=_WRITE_SECONDS
            )

    async def delete_namespace(self, namespace: str) -> None:
        """Delete a namespace, if the plugin has it."""
        with suppress(NotFound):
            await self._client.delete_namespace(namespace, timeout=_WRITE_SECONDS)

    async def search(
        self,
        namespaces: Sequence[str],
        query: str | None,
        embedding: list[float] | None,
        limit: int,
    ) -> list[Found]:
        """The best matches in each group of namespaces that the plugin accepts at once."""
        if len(namespaces) <= self._most_namespaces:
            return await self._search_group(namespaces, query, embedding, limit)
        gate = asyncio.Semaphore(_SEARCHES_AT_ONCE)

        async def look(names: Sequence[str]) -> list[Found]:
            async with gate:
                return await self._search_group(names, query, embedding, limit)

        found = await asyncio.gather(*map(look, groups(namespaces, self._most_namespaces)))
        return [memory for group in found for memory in group]

    async def nearest(
        self, namespaces: Sequence[str], embedding: list[float], limit: int
    ) -> list[Found]:
        """The memories with the most similar embeddings; none if the plugin refuses this one."""
        return await self.search(namespaces, None, embedding, limit)

    async def searches_words(self) -> bool:
        """Whether the plugin supports text search."""
        return await self._understands("fts")

    async def searches_vectors(self) -> bool:
        """Whether the plugin finds memories by their embeddings."""
        return await self._understands("embedding")

    async def memories(self, namespaces: Sequence[str]) -> list[Found]:
        """All memories, in any order; of a plugin that cannot list them, the newest ones."""
        if not await self._client.supports("list"):
            return await self.newest(namespaces)
        parts = groups(namespaces, self._most_namespaces)
        return [it for names in parts for it in await self._list_group(names)]

    async def newest(self, namespaces: Sequence[str]) -> list[Found]:
        """The newest memories of each namespace, as many as a plugin without extensions returns.

        No query is sent: a plugin without text search ignores it, and one that filters by it in
        some way of its own would leave out memories that match.
        """
        gate = asyncio.Semaphore(_SEARCHES_AT_ONCE)

        async def look(name: str) -> list[Found]:
            async with gate:
                asked = SearchRequest(namespaces=[name], limit=MAX_LIMIT)
                return read_found(await self._client.search_bytes(asked))

        return [it for part in await asyncio.gather(*map(look, namespaces)) for it in part]

    async def texts(self, namespace: str, ids: Sequence[UUID]) -> tuple[dict[UUID, str], bool]:
        """The texts of a namespace, and whether the plugin has no others of these ids."""
        if await self._client.supports("list"):
            listed = self._client.list_memories([namespace], timeout=_WRITE_SECONDS)
            return {memory.id: memory.content async for memory in listed}, True
        found = {UUID(memory_id): text for memory_id, text, _ in await self.newest([namespace])}
        missing = [one for one in ids if one not in found]
        if missing and await self._client.supports("get"):
            for one in missing:
                try:
                    found[one] = (await self._client.get(one, namespace=namespace)).content
                except NotFound:
                    continue
            return found, True
        return found, not missing or len(found) < MAX_LIMIT

    async def _understands(self, capability: Capability) -> bool:
        """Whether the plugin has the capability; yes if it cannot be asked now."""
        try:
            return await self._client.supports(capability)
        except Unavailable:
            return True

    async def _make(self, session: SessionName, namespace: str) -> None:
        upsert = NamespaceUpsert(kind="custom", metadata=dict(session.metadata()))
        await self._client.put_namespace(namespace, upsert, timeout=_WRITE_SECONDS)

    async def _write_part(
        self, session: SessionName, namespace: str, memories: Sequence[Unwritten]
    ) -> set[UUID]:
        written = await self._write_all(session, namespace, memories)
        refused = [it for it in memories if it.id not in written and it.embedding is not None]
        if refused:
            # The plugin may expect embeddings of another dimension.
            plain = [replace(it, embedding=None) for it in refused]
            rescued = await self._write_all(session, namespace, plain)
            if rescued:
                self._numbers.model_failures.labels("embedder").inc()
            written |= rescued
        return written

    async def _write_all(
        self, session: SessionName, namespace: str, memories: Sequence[Unwritten]
    ) -> set[UUID]:
        if len(memories) > 0 and await self._client.supports("batch"):
            try:
                return await self._write_batch(session, namespace, memories)
            except (NotSupported, BadRequest):
                pass  # the whole batch was refused: one by one, each gets a result of its own
        return await self._write_singly(session, namespace, memories)

    async def _write_batch(
        self, session: SessionName, namespace: str, memories: Sequence[Unwritten]
    ) -> set[UUID]:
        writes = [
            {
                **_write(session, it),
                "id": str(it.id),
                "namespace": namespace,
                "created_at": format_time(it.created_at),
            }
            for it in memories
        ]
        # Not validated: the texts and ids are our own.
        body = orjson.dumps({"writes": writes})
        contents = [it.text for it in memories]
        answer = await self._client.batch_bytes(body, secrets=contents, timeout=_WRITE_SECONDS)
        if _are_all_written(answer, memories):
            return {it.id for it in memories}
        results = read_answer(BatchResponse, answer).results
        if len(results) != len(memories):
            raise ContractViolation(f"results: {len(results)} answers to {len(memories)} writes")
        failures = [it.error for it in results if isinstance(it, BatchFailure)]
        for error in failures:
            if error.code == "not_found":
                raise NotFound(error.message)
            if error.code in ("unavailable", "internal"):
                raise Unavailable(error.message)
        return {it.id for it in results if not isinstance(it, BatchFailure)}

    async def _write_singly(
        self, session: SessionName, namespace: str, memories: Sequence[Unwritten]
    ) -> set[UUID]:
        gate = asyncio.Semaphore(_SINGLE_WRITES_AT_ONCE)

        async def write(memory: Unwritten) -> UUID | None:
            async with gate:
                body = MemoryWrite(**_write(session, memory))
                try:
                    await self._client.write(namespace, body, timeout=_WRITE_SECONDS)
                except BadRequest:
                    return None
                return memory.id

        written = await asyncio.gather(*map(write, memories))
        return {it for it in written if it is not None}

    async def _search_group(
        self, names: Sequence[str], query: str | None, embedding: list[float] | None, limit: int
    ) -> list[Found]:
        if embedding is not None and not await self._understands("embedding"):
            embedding = None
        try:
            found = await self._ask(names, query, embedding, limit)
            if found or query is None or embedding is None:
                return found
            # A plugin that expects embeddings of another dimension finds nothing: use words only.
            return await self._search_group(names, query, None, limit)
        except BadRequest:
            if embedding is not None:
                # Does it refuse the embedding, or the names? Without the embedding it tells.
                with suppress(BadRequest):
                    found = await self._ask(names, query, None, limit)
                    self._numbers.model_failures.labels("embedder").inc()
                    return [] if query is None else found
            if len(names) == 1:
                raise
        found = []
        for part in self._fewer(names):
            found += await self._search_group(part, query, embedding, limit)
        self._remember_limit(names)
        return found

    async def _ask(
        self, names: Sequence[str], query: str | None, embedding: list[float] | None, limit: int
    ) -> list[Found]:
        asked: dict[str, Any] = {"namespaces": names, "limit": limit}
        if query is not None:
            asked["query"] = query
        if embedding is not None:
            asked["embedding"] = embedding
        secrets = [] if query is None else [query]
        return read_found(await self._client.search_bytes(orjson.dumps(asked), secrets=secrets))

    async def _list_group(self, names: Sequence[str]) -> list[Found]:
        try:
            listed = self._client.list_memories(names)
            return [(str(it.id), it.content, 0.0) async for it in listed]
        except BadRequest:
            if len(names) == 1:
                raise
        found = [it for part in self._fewer(names) for it in await self._list_group(part)]
        self._remember_limit(names)
        return found

    def _fewer(self, names: Sequence[str]) -> list[Sequence[str]]:
        """Smaller groups of names that the plugin refused, too many in number or in bytes."""
        return groups(names, min(self._most_namespaces, max(1, len(names) // 2)))

    def _remember_limit(self, names: Sequence[str]) -> None:
        """These were refused, but accepted in groups: it was their number."""
        self._most_namespaces = min(self._most_namespaces, max(1, len(names) // 2))


def read_found(body: bytes) -> list[Found]:
    """The memories in a response of the plugin; an unusual one is validated by the contract."""
    with suppress(KeyError, TypeError, ValueError):
        rows = orjson.loads(body)["memories"]
        ids = [it["id"] for it in rows]
        texts = [it["content"] for it in rows]
        scores = [it.get("score") for it in rows]
        if (
            all(map(_ID.fullmatch, ids))
            and {str}.issuperset(map(type, texts))
            and {float, NoneType}.issuperset(map(type, scores))
            and rb"\u0000" not in body
        ):
            return list(zip(ids, texts, _scores(scores), strict=True))
    memories = read_answer(SearchResponse, body).memories
    scores = _scores([it.score for it in memories])
    return [(str(it.id), it.content, score) for it, score in zip(memories, scores, strict=True)]


def _scores(given: Sequence[float | None]) -> list[float]:
    """Scores for all; without any, the order of the memories says which are the best."""
    if all(it is None for it in given):
        return [1 / place for place in range(1, len(given) + 1)]
    return [it or 0.0 for it in given]


def _are_all_written(answer: bytes, memories: Sequence[Unwritten]) -> bool:
    """Whether the response simply has the ids that were sent; others have to be parsed."""
    try:
        ids = [it["id"] for it in orjson.loads(answer)["results"] if "error" not in it]
    except (KeyError, TypeError, ValueError):
        return False
    return ids == [str(it.id) for it in memories]


def groups(names: Sequence[str], largest: int) -> list[Sequence[str]]:
    """The names in groups of about the same size, at most `largest` each."""
    count = -(-len(names) // largest)
    size = -(-len(names) // count) if count else largest
    return [names[start : start + size] for start in range(0, len(names), size)]


def _write(session: SessionName, memory: Unwritten) -> dict[str, Any]:
    kind, source = _KINDS[memory.type]
    fields: dict[str, Any] = {
        "id": memory.id,
        "content": memory.text,
        "kind": kind,
        "source": source,
        "propagation": {"session_id": session.name, "type": memory.type},
    }
    if memory.embedding is not None:
        fields["embedding"] = memory.embedding
    return fields
