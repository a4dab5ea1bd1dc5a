"""The memories of every owner: create, get, update, delete, list, count.

The server uses a store with a `Ledger`: one writer at a time per memory across all workers, and
counted use. Without a ledger, a store needs only a plugin.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

from contract import BadRequest, MemoryClient
from language.embedder import Embedder
from recall.ledger import Ledger, Writing
from recall.locks import Locks
from recall.memory import (
    MAX_METADATA,
    SHARED,
    Memory,
    MemoryType,
    from_row,
    is_id,
    is_metadata,
    memory_id,
    namespace_of,
    now,
)
from recall.plugin import Plugin, Scan, walk
from recall.rows import Found
from recall.selection import Selection
from recall.sharing import Sharing

OnConflict = Literal["merge", "skip", "replace"]
Fate = Literal["created", "updated", "skipped"]
# The class below has a method `list`, which shadows the type in its annotations.
Fates = list[tuple[Memory, Fate]]
Ids = list[str]
Memories = list[Memory]
Vector = list[float]


class KeyTaken(Exception):
    """The owner has another memory with this key."""


class Unset:
    """The type of `UNSET`, for omitted fields where None has a meaning of its own."""


UNSET: Final = Unset()


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A memory to write. Fields that are None or UNSET keep their stored values.

    The times are set for imported memories.
    """

    api_key_id: str
    key: str
    content: str
    type: MemoryType | None = None
    session_id: str | None = None
    metadata: dict[str, Any] | None = None
    expires_at: datetime | Unset | None = UNSET
    created_at: datetime | None = None
    updated_at: datetime | None = None
    kind: Literal["fact", "summary"] | None = None

    @property
    def id(self) -> str:
        return memory_id(self.api_key_id, self.key)


class MemoryStore:
    """Memories in a plugin. Raises the exceptions of `contract.errors`, and `KeyTaken`.

    The `embedder`, if any, creates vectors for what is written.
    """

    def __init__(
        self,
        client: MemoryClient,
        ledger: Ledger | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.plugin = Plugin(client)
        self.ledger = ledger
        self.embedder = embedder
        self._owners: set[str] = {SHARED}
        self._locks = Locks()
        self._newest: Sharing[tuple[Selection, int], Found] = Sharing(
            lambda asked: self.plugin.search(*asked)
        )

    # Writing

    async def create(
        self,
        api_key_id: str,
        key: str,
        content: str,
        *,
        type: MemoryType | None = None,
        session_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        expires_at: datetime | Unset | None = UNSET,
        source: Literal["user", "runtime"] = "user",
    ) -> Memory:
        """Write a memory, or update the one with the same owner and key.

        An update replaces the content, merges the metadata and keeps omitted fields.
        """
        draft = Draft(
            api_key_id=api_key_id,
            key=key,
            content=content,
            type=type,
            session_id=session_id,
            metadata=metadata,
            expires_at=expires_at,
        )
        [(memory, _)] = await self.put([draft], source=source)
        return memory

    async def put(
        self,
        drafts: Sequence[Draft],
        *,
        source: Literal["user", "runtime"] = "user",
        on_conflict: OnConflict = "merge",
    ) -> Fates:
        """Write several memories as `create` does, and return the result for each.

        Of two drafts for the same memory, the last one wins.
        """
        by_id = {draft.id: draft for draft in drafts}
        async with self._writing(by_id, is_edit=source == "user") as writing:
            stored = await self.plugin.get_each(
                {id_: draft.api_key_id for id_, draft in by_id.items()}
            )
            moment = now()
            done: dict[str, tuple[Memory, Fate]] = {}
            moving: Memories = []
            for id_, draft in by_id.items():
                old = stored.get(id_)
                if old is not None and on_conflict == "skip":
                    done[id_] = (old, "skipped")
                    continue
                base = None if on_conflict == "replace" else old
                memory = _merged(draft, base, moment, source)
                if old is not None and on_conflict == "replace" and draft.created_at is None:
                    memory = replace(memory, created_at=old.created_at)
                if old is not None and memory.created_at != old.created_at:
                    moving.append(memory)
                done[id_] = (memory, "created" if old is None else "updated")
            written = [memory for memory, fate in done.values() if fate != "skipped"]
            if writing is not None:
                await writing.prepare(memory.api_key_id for memory in written)
            self.plugin.check(moving)
            for memory in moving:
                # An existing row would keep its creation time, which is wrong in listings.
                await self.plugin.forget(namespace_of(memory.api_key_id), memory.id)
            written = await self._write(written, self.embedder)
            if writing is not None and written:
                await writing.wrote(written)
            self._owners |= {memory.api_key_id for memory in written}
            fresh = {memory.id: memory for memory in written}
            if self.ledger is not None:
                updated = [m for m in written if done[m.id][1] == "updated"]
                fresh |= {m.id: m for m in await self.ledger.with_access(updated)}
        return [(fresh.get(id_, memory), fate) for id_, (memory, fate) in done.items()]

    async def update(
        self, memory_id_: str, changes: Mapping[str, Any], *, api_key_id: str | None = None
    ) -> Memory | None:
        """Change some of `type, key, content, metadata, session_id, expires_at`; None if there is
        no such memory. A new key moves the memory to a new id; raises `KeyTaken` if it is taken.
        """
        found = await self.get(memory_id_, api_key_id=api_key_id)
        if found is None:
            return None
        new_id = found.id
        if "key" in changes and changes["key"] != found.key:
            new_id = memory_id(found.api_key_id, changes["key"])
        async with self._writing({found.id, new_id}, is_edit=True) as writing:
            old = await self.plugin.get(found.api_key_id, found.id)
            if old is None:
                return None
            if new_id != old.id and await self.plugin.get(old.api_key_id, new_id) is not None:
                raise KeyTaken
            memory = replace(old, **changes, id=new_id, updated_at=_after(old.updated_at))
            [memory] = await self._write([memory], self.embedder)
            if writing is not None:
                await writing.wrote([memory])
            if new_id != old.id:
                await self.plugin.forget(namespace_of(old.api_key_id), old.id)
                if writing is not None:
                    await writing.moved(old.id, new_id)
                    await writing.deleted(old.api_key_id, [old.id])
        return await self._with_access(memory)

    async def delete(self, memory_id_: str, *, api_key_id: str | None = None) -> bool:
        """Delete a memory; returns whether it existed."""
        if not is_id(memory_id_):
            return False
        if api_key_id is not None:
            return await self.delete_ids(api_key_id, [memory_id_]) == 1
        return await self.delete_anywhere([memory_id_]) == 1

    async def delete_anywhere(self, ids: Sequence[str]) -> int:
        """Delete memories of any owners, and return how many existed."""
        owners = {} if self.ledger is None else await self.ledger.owners_of(ids)
        by_owner: dict[str, Ids] = {}
        for memory_id_, owner in owners.items():
            by_owner.setdefault(owner, []).append(memory_id_)
        deleted = 0
        for owner, own in by_owner.items():
            deleted += await self.delete_ids(owner, own)
        strangers = [memory_id_ for memory_id_ in ids if memory_id_ not in owners]
        for start in range(0, len(strangers), 200):
            deleted += await self._delete_strangers(strangers[start : start + 200])
        return deleted

    async def delete_ids(self, owner: str, ids: Sequence[str]) -> int:
        """Delete memories of an owner, and return how many existed."""
        deleted = 0
        for start in range(0, len(ids), 200):
            part = ids[start : start + 200]
            async with self._writing(part, is_edit=True) as writing:
                deleted += await self.plugin.forget_all(namespace_of(owner), part)
                if writing is not None:
                    await writing.deleted(owner, part)
        return deleted

    async def delete_all(self, selection: Selection) -> int:
        """Delete everything that matches, and return how many there were."""
        deleted = 0
        for owner in selection.owners:
            own = replace(selection, owners=(owner,))
            if own.is_whole:
                deleted += await self._delete_owner(owner)
                continue
            async for ids in self._matching(own):
                deleted += await self.delete_ids(owner, ids)
        return deleted

    async def touch(self, memory: Memory) -> None:
        """Rewrite a memory to add its vector, unless it was deleted or there is no embedder."""
        embedder = self.embedder
        if embedder is None:
            return
        async with self._writing([memory.id], is_edit=False) as writing:
            current = await self.plugin.get(memory.api_key_id, memory.id)
            if current is not None:
                written = await self._write([current], embedder)
                if writing is not None:
                    await writing.wrote(written)

    async def rewrite(self, memories: Sequence[Memory], *, is_edit: bool = True) -> Memories:
        """Write memories as they are, including times, under their locks."""
        written: Memories = []
        for start in range(0, len(memories), 200):
            part = memories[start : start + 200]
            async with self._writing([memory.id for memory in part], is_edit=is_edit) as writing:
                if writing is not None:
                    await writing.prepare(memory.api_key_id for memory in part)
                done = await self._write(part, self.embedder)
                if writing is not None:
                    await writing.wrote(done)
            written += done
        return written

    async def exchange(self, owner: str, memories: Memories, by: Mapping[str, Memory]) -> set[str]:
        """Replace memories of an owner, or delete those that `by` has nothing for; returns which.

        What was changed or deleted since it was read is left as it is.
        """
        done: set[str] = set()
        for start in range(0, len(memories), 200):
            read = {memory.id: memory for memory in memories[start : start + 200]}
            async with self._writing(read, is_edit=True) as writing:
                stored = await self.plugin.get_each(dict.fromkeys(read, owner))
                same = [id_ for id_, it in stored.items() if it.is_as_old_as(read[id_])]
                written = await self._write([by[id_] for id_ in same if id_ in by], self.embedder)
                gone = [id_ for id_ in same if id_ not in by]
                await self.plugin.forget_all(namespace_of(owner), gone)
                if writing is not None:
                    await writing.wrote(written)
                    await writing.deleted(owner, gone)
            done.update(same)
        return done

    # Reading

    async def get(self, memory_id_: str, *, api_key_id: str | None = None) -> Memory | None:
        """One memory, of this owner or of any; None if it does not exist."""
        if not is_id(memory_id_):
            return None
        owner = await self._owner_of(memory_id_, api_key_id)
        memory = None if owner is None else await self.plugin.get(owner, memory_id_)
        return None if memory is None else await self._with_access(memory)

    async def list(self, selection: Selection, *, limit: int = 50, offset: int = 0) -> Memories:
        """A page of what matches, newest first."""
        if await self.is_browsable() and selection.is_countable:
            return await self.with_access(await self._browse(selection, limit, offset))
        found = (await self.plugin.scan(selection)).memories
        return await self.with_access(found[offset : offset + limit])

    async def count(self, selection: Selection) -> int:
        """How many match."""
        if await self.is_browsable() and selection.is_countable:
            return sum((await self.plugin.count_types(selection)).values())
        return len((await self.plugin.scan(selection)).memories)

    async def export(self, selection: Selection) -> AsyncIterator[Memory]:
        """Everything that matches, oldest first."""
        if await self.plugin.client.supports("list"):
            # Without the limit of a scan: an export must be complete.
            found = [it async for part in walk(self.plugin, selection) for it in part]
        else:
            found = (await self.plugin.scan(selection)).memories
        found.sort(key=lambda memory: (memory.created_at, memory.id))
        for start in range(0, len(found), 500):
            for memory in await self.with_access(found[start : start + 500]):
                yield memory

    async def scan(self, selection: Selection) -> Scan:
        """Everything that matches, within the limits of a scan."""
        return await self.plugin.scan(selection)

    async def newest(self, selection: Selection, limit: int) -> Found:
        """The newest that match; concurrent requests of one owner share the search."""
        return await self._newest.ask((selection, limit))

    async def search(self, selection: Selection, words: str, limit: int) -> Found:
        """The plugin's search results for some words; empty if it cannot search text."""
        if not await self.plugin.client.supports("fts"):
            return Found()
        return await self.plugin.search(selection, limit, query=words)

    async def nearest(
        self, selection: Selection, vector: Vector, limit: int, *, model: str
    ) -> Found:
        """The memories with the nearest vectors of this model, with their scores."""
        found = await self.plugin.search(selection, limit, vector=vector)
        if all(memory.embedded_with == model for memory in found.memories):
            return found
        # Vectors of different models cannot be compared, so those of others are left out.
        own = replace(selection, embedded_with=model)
        return await self.plugin.search(own, limit, vector=vector)

    async def owners(self) -> Collection[str]:
        """All owners that may have memories."""
        return sorted(self._owners) if self.ledger is None else await self.ledger.owners()

    # Internals

    @asynccontextmanager
    async def _writing(
        self, ids: Collection[str], *, is_edit: bool
    ) -> AsyncIterator[Writing | None]:
        """Lock some memories for writing.

        Writers in this process wait here, without holding a database connection.
        """
        async with self._locks.hold(ids):
            if self.ledger is None:
                yield None
                return
            async with self.ledger.writing(is_edit=is_edit) as writing:
                await writing.lock(ids)
                yield writing

    async def _write(self, memories: Sequence[Memory], embedder: Embedder | None) -> Memories:
        """Write with vectors; a memory whose vector fails is written without one.

        The embedder is an argument, because settings may replace or remove ours while we wait.
        """
        if not memories:
            return []
        if embedder is None or not await self.plugin.keeps_vectors():
            bare = [replace(memory, embedded_with=None) for memory in memories]
            await self.plugin.write([(memory, None) for memory in bare])
            return bare
        vectors = await embedder.embed([memory.content for memory in memories])
        named = [
            replace(memory, embedded_with=None if vector is None else embedder.model)
            for memory, vector in zip(memories, vectors, strict=True)
        ]
        await self.plugin.write(list(zip(named, vectors, strict=True)))
        return named

    async def _browse(self, selection: Selection, limit: int, offset: int) -> Memories:
        namespaces = selection.namespaces
        if not namespaces:
            return []
        if len(namespaces) > 1000:
            found = await self.plugin.scan(selection)
            return found.memories[offset : offset + limit]
        names = list(namespaces)
        cursor = None
        if offset:
            cursor = await self.plugin.skip(names, selection.where, offset)
            if cursor is None:
                return []
        rows, _ = await self.plugin.page(names, selection.where, cursor, limit)
        return [from_row(row, namespaces[row.namespace]) for row in rows]

    async def _matching(self, selection: Selection) -> AsyncIterator[Ids]:
        """The ids of everything that matches, in batches, until there are no more."""
        if await self.plugin.client.supports("list"):
            async for memories in walk(self.plugin, selection):
                yield [memory.id for memory in memories]
            return
        if self.ledger is not None and selection.is_countable:
            # A search returns only the newest; the ledger knows the others.
            yield await self.ledger.ids(selection)
        while found := (await self.plugin.scan(selection)).memories:
            yield [memory.id for memory in found]

    async def _delete_owner(self, owner: str) -> int:
        everything = Selection((owner,))
        count = await self.count(everything)
        if self.ledger is not None and not await self.is_browsable():
            known = await self.ledger.sizes(everything, everybody=False)
            count = max(count, known.count)
        async with self._writing([], is_edit=True) as writing:
            await self.plugin.drop(namespace_of(owner))
            if writing is not None:
                await writing.deleted_all(owner)
        return count

    async def _delete_strangers(self, ids: Ids) -> int:
        """Delete rows that recall did not write, whose namespaces only the plugin knows."""
        deleted = 0
        for owner in await self.owners():
            async with self._writing(ids, is_edit=True) as writing:
                fates = await self.plugin.forget_each(namespace_of(owner), ids)
                gone = [id_ for id_, fate in fates.items() if fate == "deleted"]
                if writing is not None and gone:
                    await writing.deleted(owner, gone)
            deleted += len(gone)
            ids = [id_ for id_, fate in fates.items() if fate == "elsewhere"]
            if not ids:
                break
        return deleted

    async def _owner_of(self, memory_id_: str, api_key_id: str | None) -> str | None:
        if api_key_id is not None:
            return api_key_id
        if self.ledger is not None:
            owner = await self.ledger.owner_of(memory_id_)
            if owner is not None:
                return owner
        # Recall did not write this row, so only the plugin knows its namespace.
        if await self.plugin.is_nowhere(memory_id_):
            return None
        for owner in await self.owners():
            if await self.plugin.get(owner, memory_id_) is not None:
                return owner
        return None

    async def _with_access(self, memory: Memory) -> Memory:
        return (await self.with_access([memory]))[0]

    async def with_access(self, memories: Memories) -> Memories:
        return memories if self.ledger is None else await self.ledger.with_access(memories)

    async def is_browsable(self) -> bool:
        client = self.plugin.client
        return await client.supports("browse") and await client.supports("filter")


@asynccontextmanager
async def open_store(store: MemoryStore | None) -> AsyncIterator[MemoryStore]:
    """The given store, or a temporary one on the plugin at `MEMORY_PLUGIN_URL`."""
    if store is not None:
        yield store
        return
    async with MemoryClient() as client:
        yield MemoryStore(client)


def _merged(
    draft: Draft, old: Memory | None, moment: datetime, source: Literal["user", "runtime"]
) -> Memory:
    """The draft merged with the stored memory."""
    expires_at = draft.expires_at
    if isinstance(expires_at, Unset):
        expires_at = old.expires_at if old is not None else None
    if old is None:
        created_at = draft.created_at or moment
        return Memory(
            id=draft.id,
            api_key_id=draft.api_key_id,
            key=draft.key,
            content=draft.content,
            type=draft.type or "factual",
            session_id=draft.session_id or "",
            metadata=draft.metadata or {},
            created_at=created_at,
            updated_at=draft.updated_at or created_at,
            expires_at=expires_at,
            kind=draft.kind or "fact",
            source=source,
        )
    metadata = old.metadata | (draft.metadata or {})
    if source == "user" and draft.metadata and not is_metadata(metadata):
        raise BadRequest(
            f"metadata: must have at most {MAX_METADATA} bytes of JSON with what is stored",
            details={"field": "metadata"},
        )
    return replace(
        old,
        content=draft.content,
        type=draft.type or old.type,
        session_id=old.session_id if draft.session_id is None else draft.session_id,
        metadata=metadata,
        updated_at=_after(old.updated_at) if draft.updated_at is None else draft.updated_at,
        expires_at=expires_at,
        source=source,
        kind=draft.kind or "fact",
    )


def _after(earlier: datetime) -> datetime:
    """Now, but not before `earlier`, so that times never go backwards."""
    return max(now(), earlier)
