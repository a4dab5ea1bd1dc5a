"""The plugin as recall uses it: through its extensions, or with bounded work without them."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import orjson

from contract import (
    CAPABILITIES,
    EXTENSIONS,
    MAX_LIMIT,
    MAX_PAGE,
    BadRequest,
    BatchFailure,
    BatchWrite,
    ContractViolation,
    CountRequest,
    Forbidden,
    ListRequest,
    MemoryClient,
    MemoryPluginError,
    NamespaceUpsert,
    NotFound,
    SearchRequest,
    Unavailable,
)
from contract import Memory as Row
from contract.model import parse_value
from recall.memory import SHARED_NAMESPACE, Memory, from_row, namespace_of
from recall.rows import Found, Reader
from recall.selection import Selection

MAX_SCANNED: Final = 10_000
"""Rows that recall scans itself on a plugin without `filter` and `browse`."""
MAX_NAMESPACES: Final = 1000
_BATCH = 200
_BATCH_CHARACTERS = 2_000_000
_AT_ONCE = 16
_LONG = 20.0

_Answer = TypeVar("_Answer")
Forgotten = Literal["deleted", "missing", "elsewhere"]


@dataclass(frozen=True)
class Scan:
    """The result of a scan; `truncated` if it did not cover everything."""

    memories: list[Memory]
    truncated: bool = False


class Plugin:
    """One plugin. Every method raises the exceptions of `contract.errors`."""

    def __init__(self, client: MemoryClient) -> None:
        self.client = client
        self._known: set[str] = set()
        self._reader = Reader()

    async def features(self) -> frozenset[str]:
        """The capabilities and extensions that the plugin lists."""
        known = (*CAPABILITIES, *EXTENSIONS)
        return frozenset([name for name in known if await self.client.supports(name)])

    async def keeps_vectors(self) -> bool:
        """Whether the plugin can search by vector."""
        return await self.client.supports("embedding")

    # Writing

    def check(self, memories: Iterable[Memory]) -> None:
        """Raise `BadRequest` if the contract does not allow one of these memories."""
        for memory in memories:
            _write(namespace_of(memory.api_key_id), memory, memory.propagation(), None)

    async def write(self, writes: Sequence[tuple[Memory, list[float] | None]]) -> None:
        """Write whole memories, including times, to the namespaces of their owners."""
        rows = [(namespace_of(memory.api_key_id), memory, vector) for memory, vector in writes]
        await self.write_rows(
            [_write(name, memory, memory.propagation(), vector) for name, memory, vector in rows]
        )

    async def write_rows(self, writes: Sequence[BatchWrite]) -> None:
        """Write rows, creating missing namespaces."""
        await self._ensure({write.namespace for write in writes} - self._known)
        for part in _batches(writes):
            await self._write_some(part)

    async def _write_some(self, writes: Sequence[BatchWrite]) -> None:
        homeless = await self._try_write(writes)
        if homeless:
            # Another worker deleted the namespace, or the plugin lost it.
            await self._ensure({write.namespace for write in homeless})
            if await self._try_write(homeless):
                raise Unavailable("the plugin loses namespaces that it has created")

    async def _try_write(self, writes: Sequence[BatchWrite]) -> list[BatchWrite]:
        """Write rows, and return those whose namespace is missing."""
        if not await self.client.supports("batch"):
            return [write for write in writes if not await self._write_one(write)]
        homeless = []
        for write, result in zip(
            writes, await self.client.batch(writes, timeout=_LONG), strict=True
        ):
            if not isinstance(result, BatchFailure):
                continue
            if result.error.code != "not_found":
                raise _failure(result.error.code, result.error.message)
            homeless.append(write)
        return homeless

    async def _write_one(self, write: BatchWrite) -> bool:
        try:
            await self.client.write(write.namespace, write, timeout=_LONG)
        except NotFound:
            return False
        return True

    async def _ensure(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            await self.client.put_namespace(name, NamespaceUpsert(kind="custom"))
            self._known.add(name)

    async def forget(self, namespace: str, memory_id: str) -> bool:
        """Delete one memory; returns whether it existed."""
        return await self._forget(namespace, memory_id) == "deleted"

    async def forget_all(self, namespace: str, ids: Sequence[str]) -> int:
        """Delete memories of a namespace, and return how many existed."""
        return list((await self.forget_each(namespace, ids)).values()).count("deleted")

    async def forget_each(self, namespace: str, ids: Sequence[str]) -> dict[str, Forgotten]:
        """Delete memories of a namespace, and return the result for each."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def forget(memory_id: str) -> Forgotten:
            async with gate:
                return await self._forget(namespace, memory_id)

        fates = await _all(forget(memory_id) for memory_id in ids)
        return dict(zip(ids, fates, strict=True))

    async def _forget(self, namespace: str, memory_id: str) -> Forgotten:
        try:
            await self.client.forget(memory_id, requested_by_namespace=namespace)
        except NotFound:
            return "missing"
        except Forbidden:
            return "elsewhere"
        return "deleted"

    async def drop(self, namespace: str) -> None:
        """Delete a namespace with everything in it."""
        self._known.discard(namespace)
        try:
            await self.client.delete_namespace(namespace, timeout=_LONG)
        except NotFound:
            return

    # Reading

    async def get(self, owner: str, memory_id: str) -> Memory | None:
        """One memory of an owner, or None."""
        memory_id = memory_id.lower()
        return (await self.get_each({memory_id: owner})).get(memory_id)

    async def get_each(self, owners: Mapping[str, str]) -> dict[str, Memory]:
        """The memories that exist, by id; `owners` has the owner of each id."""
        if not await self.client.supports("get"):
            return await self._look_for(owners)
        found = await _all(self._get(owner, memory_id) for memory_id, owner in owners.items())
        return {memory.id: memory for memory in found if memory is not None}

    async def _get(self, owner: str, memory_id: str) -> Memory | None:
        try:
            row = await self.client.get(memory_id, namespace=namespace_of(owner))
        except (NotFound, Forbidden):
            return None
        return from_row(row, owner)

    async def _look_for(self, owners: Mapping[str, str]) -> dict[str, Memory]:
        """The same without `get`: each namespace is scanned once, not once per memory."""
        found: dict[str, Memory] = {}
        for owner in sorted(set(owners.values())):
            async for rows, _ in self._parts_of([namespace_of(owner)], {}):
                for row in rows:
                    memory_id = str(row.id)
                    if owners.get(memory_id) == owner:
                        found[memory_id] = from_row(row, owner)
        return found

    async def is_nowhere(self, memory_id: str) -> bool:
        """Whether the plugin knows that no namespace has this memory; False if unknown."""
        if not await self.client.supports("get"):
            return False
        # In a namespace that does not exist, a 404 could be about the namespace.
        await self._ensure({SHARED_NAMESPACE} - self._known)
        try:
            await self.client.get(memory_id, namespace=SHARED_NAMESPACE)
        except NotFound:
            return True
        except Forbidden:
            return False
        return False

    async def search(
        self,
        selection: Selection,
        limit: int,
        *,
        query: str | None = None,
        vector: list[float] | None = None,
    ) -> Found:
        """The best rows for some words or a vector; without either, the newest."""
        namespaces = selection.namespaces
        if not namespaces:
            return Found()
        filtered = bool(selection.where) and await self.client.supports("filter")
        is_newest = query is None and vector is None
        if selection.where and not filtered and is_newest:
            return Found.of((await self.scan(selection)).memories[:limit])
        asked = limit if filtered or not selection.where else MAX_LIMIT
        where = selection.where if filtered else {}
        # As bytes: the request is known to be valid, and what the plugin supports was checked.
        answers = await _all(
            self.client.search_bytes(
                orjson.dumps(_search(names, asked, query, vector, where)), secrets=[query or ""]
            )
            for names in _parts(list(namespaces), MAX_NAMESPACES)
        )
        parts = [self._reader.read(answer, namespaces) for answer in answers]
        if len(parts) == 1 and selection.is_whole and len(parts[0].candidates) <= limit:
            return parts[0]
        matching = [
            (one, score)
            for part in parts
            for one, score in zip(part.candidates, part.scores, strict=True)
            if selection.matches(one.memory)
        ]
        if len(parts) > 1:
            matching.sort(key=lambda it: (-it[1], it[0].order))
        best = matching[:limit]
        return Found([one for one, _ in best], [score for _, score in best])

    async def scan(self, selection: Selection) -> Scan:
        """Everything that matches, newest first, within the limits of a scan."""
        namespaces = selection.namespaces
        memories: list[Memory] = []
        truncated = False
        for names in _parts(list(namespaces), MAX_NAMESPACES):
            async for rows, is_cut in self._parts_of(names, selection.where):
                truncated = truncated or is_cut
                found = (from_row(row, namespaces[row.namespace]) for row in rows)
                memories += [memory for memory in found if selection.matches(memory)]
        memories.sort(key=newest_first)
        return Scan(memories, truncated)

    async def look_through(self, names: list[str], where: dict[str, str]) -> tuple[list[Row], bool]:
        """The rows of some namespaces, up to the limit of a scan, and whether there are more."""
        found: list[Row] = []
        truncated = False
        async for rows, is_cut in self._parts_of(names, where):
            found += rows
            truncated = truncated or is_cut
        return found, truncated

    async def _parts_of(
        self, names: list[str], where: dict[str, str]
    ) -> AsyncIterator[tuple[list[Row], bool]]:
        """The same page by page; true with the last page if more was left out.

        A plugin that filters and browses is read to the end.
        """
        if not await self.client.supports("list"):
            yield await self._newest_of_each(names)
            return
        filters, browses = (
            await self.client.supports("filter"),
            await self.client.supports("browse"),
        )
        read = 0
        cursor: str | None = None
        while True:
            rows, cursor = await self.page(names, where if filters else {}, cursor)
            read += len(rows)
            is_cut = cursor is not None and read >= MAX_SCANNED and not (filters and browses)
            yield rows, is_cut
            if cursor is None or is_cut:
                return

    async def _newest_of_each(self, names: list[str]) -> tuple[list[Row], bool]:
        found = await _all(self.newest_rows(name) for name in names)
        cut = any(len(rows) == MAX_LIMIT for rows in found)
        return [row for rows in found for row in rows], cut

    async def newest_rows(self, name: str) -> list[Row]:
        """The newest rows of a namespace."""
        return (await self.client.search(SearchRequest(**_search([name], MAX_LIMIT)))).memories

    async def page(
        self, names: list[str], where: dict[str, str], cursor: str | None, size: int = MAX_PAGE
    ) -> tuple[list[Row], str | None]:
        """One page of a listing, newest first where the plugin can browse."""
        asked: dict[str, Any] = {"namespaces": names, "limit": size}
        if cursor is not None:
            asked["cursor"] = cursor
        if where:
            asked["where"] = where
        if await self.client.supports("browse"):
            asked["order"] = "newest"
        page = await self.client.list_page(ListRequest(**asked), timeout=_LONG)
        return [row for row in page.memories if isinstance(row, Row)], page.next_cursor

    async def skip(self, names: list[str], where: dict[str, str], count: int) -> str | None:
        """The cursor after the newest `count` rows; None if there are no more."""
        cursor: str | None = None
        while count > 0:
            size = min(count, MAX_PAGE)
            asked: dict[str, Any] = {"namespaces": names, "limit": size, "fields": "digest"}
            asked |= {"order": "newest"} | ({"where": where} if where else {})
            if cursor is not None:
                asked["cursor"] = cursor
            page = await self.client.list_page(ListRequest(**asked), timeout=_LONG)
            cursor = page.next_cursor
            if cursor is None:
                return None
            count -= len(page.memories)
        return cursor

    async def count_types(self, selection: Selection) -> dict[str, int]:
        """The number of memories of each type; needs `browse` and `filter`."""
        counts: dict[str, int] = {}
        for names in _parts(list(selection.namespaces), MAX_NAMESPACES):
            asked: dict[str, Any] = {"namespaces": names, "group_by": "type"}
            if selection.where:
                asked["where"] = selection.where
            counted = await self.client.count(CountRequest(**asked), timeout=_LONG)
            for group in counted.groups or ():
                # Recall did not write rows without a type.
                name = group.value if isinstance(group.value, str) else "factual"
                counts[name] = counts.get(name, 0) + group.count
        return counts


async def walk(plugin: Plugin, selection: Selection) -> AsyncIterator[list[Memory]]:
    """Everything that matches, page by page; needs `list`."""
    namespaces = selection.namespaces
    for names in _parts(list(namespaces), MAX_NAMESPACES):
        where = selection.where if await plugin.client.supports("filter") else {}
        cursor: str | None = None
        while True:
            rows, cursor = await plugin.page(names, where, cursor)
            found = [from_row(row, namespaces[row.namespace]) for row in rows]
            yield [memory for memory in found if selection.matches(memory)]
            if cursor is None:
                break


def newest_first(memory: Memory) -> tuple[float, str]:
    """The order of listings: the newest `createdAt` first, then by id."""
    return (-memory.created_at.timestamp(), memory.id)


def batch_write(
    namespace: str, memory: Memory, propagation: dict[str, Any], *, memory_id: str | None = None
) -> BatchWrite:
    """Write a row that is not listed as a memory, such as an archived original."""
    return _write(namespace, memory, propagation, None, memory_id)


def _write(
    namespace: str,
    memory: Memory,
    propagation: dict[str, Any],
    vector: list[float] | None,
    memory_id: str | None = None,
) -> BatchWrite:
    fields: dict[str, Any] = {
        "namespace": namespace,
        "id": memory_id or memory.id,
        "content": memory.content,
        "kind": memory.kind,
        "source": memory.source,
        "propagation": propagation,
        "created_at": memory.created_at,
    }
    if memory.expires_at is not None:
        fields["expires_at"] = memory.expires_at
    if vector is not None:
        fields["embedding"] = vector
    write: BatchWrite = parse_value(BatchWrite, fields)
    return write


def _search(
    names: list[str],
    limit: int,
    query: str | None = None,
    vector: list[float] | None = None,
    where: dict[str, str] | None = None,
) -> dict[str, Any]:
    asked: dict[str, Any] = {"namespaces": names, "limit": limit}
    if query is not None:
        asked["query"] = query
    if vector is not None:
        asked["embedding"] = vector
    if where:
        asked["where"] = where
    return asked


def _failure(code: str, message: str) -> MemoryPluginError:
    match code:
        case "bad_request":
            return BadRequest(message)
        case "forbidden":
            return Forbidden(message)
        case "unavailable":
            return Unavailable(message)
    return ContractViolation(message)


def _batches(writes: Sequence[BatchWrite]) -> Iterator[list[BatchWrite]]:
    """The writes in batches that are small enough for a plugin."""
    part: list[BatchWrite] = []
    size = 0
    for write in writes:
        size += len(write.content)
        if part and (len(part) == _BATCH or size > _BATCH_CHARACTERS):
            yield part
            part, size = [], len(write.content)
        part.append(write)
    if part:
        yield part


def _parts(names: list[str], size: int) -> list[list[str]]:
    return [names[start : start + size] for start in range(0, len(names), size)]


async def _all(calls: Iterable[Coroutine[Any, Any, _Answer]]) -> list[_Answer]:
    """The results of all; a single one runs without a task."""
    waiting = list(calls)
    if len(waiting) == 1:
        return [await waiting[0]]
    return list(await asyncio.gather(*waiting))
