"""Memories: written one by one or in batches, read one by one, forgotten."""

import asyncio
import os
import time
from typing import Any
from uuid import UUID

from asyncpg.pgproto import pgproto

from contract import (
    BadRequest,
    BatchWrite,
    Forbidden,
    ForgetRequest,
    MemoryPluginError,
    MemoryWrite,
    NotFound,
    Unavailable,
)
from plugin_postgres import jsonb, pgvector, rows, sql
from plugin_postgres.database import Database
from plugin_postgres.settings import Settings
from plugin_postgres.writes import Write, WriteQueue


class Memories:
    """The memories of one store."""

    def __init__(self, database: Database, queue: WriteQueue, settings: Settings) -> None:
        self._database = database
        self._queue = queue
        self._max_content = settings.max_content

    async def write(self, namespace: str, body: MemoryWrite) -> dict[str, Any]:
        """Returns when the memory is durable."""
        write = self._prepare(namespace, body)
        await self._queue.submit(write)
        return {"id": str(write.id), "namespace": namespace}

    async def write_all(self, writes: list[BatchWrite | BadRequest]) -> list[dict[str, Any]]:
        """One result per write, in order; one that fails does not affect the others.

        Raises `Unavailable` if the store accepted none of them: the whole request can be retried.
        """
        prepared = [self._prepare_or_refuse(write) for write in writes]
        accepted = [entry for entry in prepared if isinstance(entry, Write)]
        if accepted:
            self._queue.submit_all(accepted)
            await asyncio.gather(*(write.done for write in accepted), return_exceptions=True)
        outcomes = [_outcome(entry) for entry in prepared]
        down = [outcome for outcome in outcomes if isinstance(outcome, Unavailable)]
        if len(down) == len(outcomes):
            raise down[0]
        return [
            {"error": outcome.envelope()} if isinstance(outcome, MemoryPluginError) else outcome
            for outcome in outcomes
        ]

    async def forget(self, key: UUID, body: ForgetRequest) -> None:
        """Delete one memory, if the asking namespace owns it."""
        found = await self._database.fetchrow(
            sql.load("forget_memory"), key, body.requested_by_namespace
        )
        if found is None or found["owner"] is None:
            raise NotFound(f"memory {key} does not exist")
        if found["owner"] != body.requested_by_namespace:
            raise Forbidden(f"memory {key} belongs to another namespace")
        if not found["deleted"]:
            raise NotFound(f"memory {key} does not exist")

    async def get(self, key: UUID, namespace: str) -> dict[str, Any]:
        """One memory, if the asking namespace owns it."""
        found = await self._database.fetchrow(sql.load("get_memory"), key)
        if found is None:
            raise NotFound(f"memory {key} does not exist")
        if found["namespace"] != namespace:
            raise Forbidden(f"memory {key} belongs to another namespace")
        return rows.memory(*found)

    def _prepare(self, namespace: str, body: MemoryWrite) -> Write:
        # The driver's own UUID type: a write hashes and prints its id several times, and this type
        # is at least seven times as fast.
        key = new_id() if body.id is None else pgproto.UUID(body.id.bytes)
        size = self._size(body.content)
        embedding = None
        if body.embedding is not None and self._database.serves_vectors:
            embedding = _encoded(body.embedding)
            size += len(embedding)
        propagation = jsonb.store(body.propagation)
        if propagation is not None:
            size += len(propagation)
        return Write(
            id=key,
            namespace=namespace,
            content=body.content,
            kind=body.kind,
            source=body.source,
            expires_at=body.expires_at,
            propagation=propagation,
            pin=bool(body.pin),
            created_at=body.created_at if isinstance(body, BatchWrite) else None,
            embedding=embedding,
            size=size,
        )

    def _size(self, content: str) -> int:
        """About how many bytes it has; refuses content that is too large."""
        if len(content) * 4 <= self._max_content:  # a character has at most four
            return len(content)
        size = len(content.encode())
        if size > self._max_content:
            raise BadRequest(
                f"content: must be at most {self._max_content} bytes",
                details={"field": "content"},
                status=413,
            )
        return size

    def _prepare_or_refuse(self, write: BatchWrite | BadRequest) -> Write | BadRequest:
        if isinstance(write, BadRequest):
            return write
        try:
            return self._prepare(write.namespace, write)
        except BadRequest as refusal:
            return refusal


def new_id() -> UUID:
    """A UUID that begins with the time (version 7): neighbours in time are neighbours on disk."""
    value = bytearray((time.time_ns() // 1_000_000).to_bytes(6) + os.urandom(10))
    value[6] = value[6] & 0x0F | 0x70
    value[8] = value[8] & 0x3F | 0x80
    return pgproto.UUID(bytes(value))


def _encoded(embedding: list[float]) -> bytes:
    if len(embedding) > pgvector.MAX_DIMENSION:
        raise BadRequest(
            f"embedding: must have at most {pgvector.MAX_DIMENSION} numbers",
            details={"field": "embedding"},
        )
    return pgvector.encode(embedding)


def _outcome(entry: Write | BadRequest) -> dict[str, Any] | MemoryPluginError:
    if isinstance(entry, BadRequest):
        return entry
    try:
        entry.done.result()
    except MemoryPluginError as error:
        return error
    return {"id": str(entry.id), "namespace": entry.namespace}
