"""Memories: written in rounds, found by similarity or newest first, forgotten.

    space of the namespace   <pin><newest first><uuid>   the memory
    registry                 id/<uuid>                   a pointer: which space and record has it

The record id of a memory sorts the way the contract asks, pinned before unpinned and newest
first: `list` returns ids in their order, the only order besides similarity that Pinecone has.
The pointers make an id unique across namespaces, and keep `created_at` when it is written again.
"""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID, uuid4

from contract import (
    BadRequest,
    BatchWrite,
    Forbidden,
    Memory,
    MemoryPluginError,
    MemoryWriteResponse,
    NotFound,
    SearchRequest,
    format_time,
    parse_time,
)
from pinecone_plugin import documents
from pinecone_plugin.documents import CONTINUED, Fields
from pinecone_plugin.index import Index, Record
from pinecone_plugin.namespaces import REGISTRY, Home, Namespaces, no_namespace
from pinecone_plugin.times import NEVER, micros, now

SWEEP_EVERY = 60.0

Outcome = MemoryWriteResponse | MemoryPluginError


class Memories:
    """All writes that arrive while one round is on its way go into the next one together.

    The lock makes reading and then writing safe within this process, and there must be only one.
    """

    def __init__(self, index: Index, namespaces: Namespaces) -> None:
        self._index = index
        self._namespaces = namespaces
        self._turn = asyncio.Lock()
        self._waiting: list[BatchWrite] = []
        self._round: asyncio.Task[list[Outcome]] | None = None
        self._swept: dict[str, float] = {}

    async def write(self, writes: Sequence[BatchWrite]) -> list[Outcome]:
        """One outcome per write, in order, once all are durable and every search sees them."""
        if self._round is None:
            self._round = asyncio.create_task(self._run())
        first = len(self._waiting)
        self._waiting.extend(writes)
        outcomes = await asyncio.shield(self._round)
        return outcomes[first : first + len(writes)]

    async def search(self, request: SearchRequest) -> list[Memory]:
        moment = now()
        homes = await self._namespaces.live(request.namespaces, moment)
        spaces = [home.space for home in homes.values()]
        if request.embedding is None:
            lists = await asyncio.gather(
                *(self._newest(space, request, moment) for space in spaces)
            )
            rows = [row for rows in lists for row in rows]
            rows.sort(key=lambda row: row["key"])
        else:
            lists = await asyncio.gather(
                *(self._nearest(space, request, request.embedding, moment) for space in spaces)
            )
            rows = [row for rows in lists for row in rows]
            rows.sort(key=lambda row: (-row["score"], row["key"]))
            rows = rows[: request.limit]
            rows.sort(key=lambda row: row["key"][0])
        return [_memory(row) for row in rows[: request.limit]]

    async def forget(self, memory_id: UUID, requested_by: str) -> None:
        async with self._turn:
            pointers = await self._pointers([memory_id])
            pointer = pointers.get(memory_id)
            owners = await self._namespaces.live(_owners(pointers), now())
            if pointer is None or not _is_live(pointer, owners):
                raise NotFound(f"memory {memory_id} does not exist")
            if pointer["namespace"] != requested_by:
                raise Forbidden(f"memory {memory_id} belongs to another namespace")
            await self._index.delete(pointer["space"], _all_records(pointer))
            await self._index.delete(REGISTRY, [pointer["key"]])
            await self._index.settle(pointer["space"], REGISTRY)

    async def _newest(self, space: str, request: SearchRequest, moment: datetime) -> list[Fields]:
        rows: list[Fields] = []
        async for page in self._index.list_ids(space):
            keys = [key for key in page if not key.startswith(CONTINUED)]
            found = await documents.read(self._index, space, keys)
            rows += [found[key] for key in keys if key in found]
            rows = [row for row in _current(rows) if _matches(row, request, moment)]
            if len(rows) >= request.limit or len(keys) < len(page):
                break
        return rows[: request.limit]

    async def _nearest(
        self, space: str, request: SearchRequest, embedding: Sequence[float], moment: datetime
    ) -> list[Fields]:
        dimension = await self._index.dimension()
        if len(embedding) > dimension:
            return []
        vector = _padded(embedding, dimension)
        # A zero vector is at a right angle to everything, whichever side has it.
        asked = {len(embedding): vector, -len(embedding): None}
        matches = []
        for kept, query in asked.items():
            condition = {
                "dimension": kept,
                "expires_at": {"$gt": micros(moment)},
                **({"kind": {"$in": request.kinds}} if request.kinds else {}),
            }
            found = await self._index.query(
                space,
                condition,
                top_k=request.limit,
                vector=query or await self._index.placeholder(),
            )
            matches += [match if query else {**match, "score": 0.0} for match in found]
        scores = {match["id"]: match["score"] for match in matches}
        heads = [match["metadata"] for match in matches]
        rows = [
            row | {"score": scores[row["key"]]}
            for row in await documents.complete(self._index, space, heads)
        ]
        return [row for row in _current(rows) if _matches(row, request, moment)]

    async def _run(self) -> list[Outcome]:
        async with self._turn:
            # What arrives from here on goes into the next round.
            writes, self._waiting, self._round = self._waiting, [], None
            return await self._write_round(writes)

    async def _write_round(self, writes: Sequence[BatchWrite]) -> list[Outcome]:
        moment = now()
        dimension = await self._index.dimension()
        pointers = await self._pointers({write.id for write in writes if write.id})
        names = {write.namespace for write in writes} | _owners(pointers)
        homes = await self._namespaces.live(names, moment)
        outcomes: list[Outcome] = []
        planned: dict[UUID, list[Record]] = {}
        obsolete: defaultdict[str, set[str]] = defaultdict(set)
        for write in writes:
            memory_id = write.id or uuid4()
            old = pointers.get(memory_id)
            known = old if old is not None and _is_live(old, homes) else None
            refusal = _refusal(write, homes, known, dimension)
            if refusal is not None:
                outcomes.append(refusal)
                continue
            if old is not None:
                obsolete[old["space"]].update(_all_records(old))
            created_at = parse_time(known["created_at"]) if known else write.created_at or moment
            planned[memory_id] = _memory_records(write, memory_id, created_at, moment, dimension)
            pointers[memory_id] = _pointer(homes[write.namespace], planned[memory_id], created_at)
            outcomes.append(MemoryWriteResponse(id=memory_id, namespace=write.namespace))
        await self._carry_out(planned, pointers, obsolete)
        return outcomes

    async def _carry_out(
        self,
        planned: dict[UUID, list[Record]],
        pointers: dict[UUID, Fields],
        obsolete: dict[str, set[str]],
    ) -> None:
        """Pointers first: a write that is repeated after a failure finds where it began."""
        values = await self._index.placeholder()
        changed = [pointers[memory_id] for memory_id in planned]
        await self._index.upsert(
            REGISTRY, [{"id": row["key"], "values": values, "metadata": row} for row in changed]
        )
        by_space: defaultdict[str, list[Record]] = defaultdict(list)
        for memory_id, records in planned.items():
            by_space[pointers[memory_id]["space"]] += records
        for space, records in by_space.items():
            await self._index.upsert(space, records)
        for space, identifiers in obsolete.items():
            kept = {record["id"] for record in by_space[space]}
            await self._index.delete(space, sorted(identifiers - kept))
        for space in (REGISTRY, *by_space):
            await self._sweep(space)
        await self._index.settle(REGISTRY, *by_space)

    async def _sweep(self, space: str) -> None:
        """Give back the room of expired memories; no search returns them any more."""
        last = self._swept.setdefault(space, time.monotonic())
        if time.monotonic() - last > SWEEP_EVERY:
            self._swept[space] = time.monotonic()
            await self._index.delete_matching(space, {"expires_at": {"$lte": micros(now())}})

    async def _pointers(self, ids: Iterable[UUID]) -> dict[UUID, Fields]:
        keys = [f"id/{memory_id}" for memory_id in ids]
        found = await documents.read(self._index, REGISTRY, keys)
        return {UUID(key.removeprefix("id/")): fields for key, fields in found.items()}


def _refusal(
    write: BatchWrite, homes: dict[str, Home], known: Fields | None, dimension: int
) -> MemoryPluginError | None:
    if write.namespace not in homes:
        return no_namespace(write.namespace)
    if known is not None and known["namespace"] != write.namespace:
        return Forbidden("id: belongs to a memory in another namespace")
    if write.embedding is not None and len(write.embedding) > dimension:
        message = f"embedding: must have at most {dimension} numbers, the dimension of the index"
        return BadRequest(message, details={"field": "embedding"})
    return None


def _memory_records(
    write: BatchWrite, memory_id: UUID, created_at: datetime, moment: datetime, dimension: int
) -> list[Record]:
    memory = Memory(
        **write.model_dump(exclude_unset=True, exclude={"id", "created_at", "embedding"}),
        id=memory_id,
        created_at=created_at,
    )
    vector = _padded(write.embedding or [], dimension)
    return documents.to_records(
        f"{0 if write.pin else 1}{NEVER - micros(created_at):016x}{memory_id}",
        micros(moment),
        memory.to_json().decode(),
        vector or _padded([1.0], dimension) or [],
        # Negative for a zero vector, which the index does not take.
        dimension=len(write.embedding or []) * (1 if vector else -1),
        kind=write.kind,
        expires_at=micros(write.expires_at),
    )


def _padded(embedding: Sequence[float], dimension: int) -> list[float] | None:
    """The vector at unit length in the dimension of the index; None if it has no direction.

    Zeros at the end and a common factor leave the cosine of two vectors as it was.
    """
    largest = max(map(abs, embedding), default=0.0)
    if not largest or len(embedding) > dimension:
        return None
    scaled = [value / largest for value in embedding]
    length = math.hypot(*scaled)
    return [value / length for value in scaled] + [0.0] * (dimension - len(embedding))


def _pointer(home: Home, records: Sequence[Record], created_at: datetime) -> Fields:
    head = records[0]["metadata"]
    memory_id = head["key"][-36:]
    return {
        "key": f"id/{memory_id}",
        "version": head["version"],
        "parts": 1,
        "text": "",
        "namespace": home.namespace.name,
        "space": home.space,
        "record": head["key"],
        "record_parts": head["parts"],
        "created_at": format_time(created_at),
        "expires_at": head["expires_at"],
    }


def _all_records(pointer: Fields) -> list[str]:
    """The ids of the memory's records, and of its twin with the other pin.

    A write that was cut off between pointer and memory may have left the twin behind.
    """
    head = {**pointer, "key": pointer["record"], "parts": pointer["record_parts"]}
    twin = ("1" if head["key"][0] == "0" else "0") + head["key"][1:]
    return [*documents.record_ids(head), twin]


def _owners(pointers: dict[UUID, Fields]) -> set[str]:
    return {pointer["namespace"] for pointer in pointers.values()}


def _is_live(pointer: Fields, homes: dict[str, Home]) -> bool:
    """Whether the memory is still there: neither expired nor gone with its namespace."""
    home = homes.get(pointer["namespace"])
    return (
        home is not None
        and home.space == pointer["space"]
        and pointer["expires_at"] > micros(now())
    )


def _matches(row: Fields, request: SearchRequest, moment: datetime) -> bool:
    return row["expires_at"] > micros(moment) and (
        not request.kinds or row["kind"] in request.kinds
    )


def _current(rows: Sequence[Fields]) -> list[Fields]:
    """Of a memory that is just being pinned or unpinned, the later record only."""
    latest: dict[str, Fields] = {}
    for row in rows:
        memory_id = row["key"][-36:]
        if memory_id not in latest or latest[memory_id]["version"] < row["version"]:
            latest[memory_id] = row
    return [row for row in rows if latest[row["key"][-36:]] is row]


def _memory(row: Fields) -> Memory:
    memory = Memory.model_validate_json(row["text"])
    return memory.model_copy(update={"score": row["score"]}) if "score" in row else memory
