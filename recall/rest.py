"""The REST API for memories, under `/api/memory`."""

import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from recall.errors import Missing
from recall.extraction import extract_facts_from_text
from recall.importing import import_memories
from recall.memory import MEMORY_TYPES, Memory, is_id
from recall.requests import (
    MAX_SESSION,
    DeleteBody,
    ExtractBody,
    MemoryBody,
    MemoryChange,
    PreviewBody,
    Query,
    read_body,
)
from recall.retrieval import RetrievalConfig, Retrieved, retrieve
from recall.selection import Selection
from recall.store import UNSET
from recall.worker import Worker

_MAX_PLACE = 10**9
_MAX_TEXT = 1000
_CHANGED = {"sessionId": "session_id", "expiresAt": "expires_at"}


def memory_routes(worker: Worker) -> list[Route]:
    """The routes with fixed paths, which must come before `{id}`."""
    api = MemoryApi(worker)
    return [
        Route("/api/memory", api.list_page, methods=["GET"]),
        Route("/api/memory", api.create, methods=["POST"]),
        Route("/api/memory/delete", api.delete_many, methods=["POST"]),
        Route("/api/memory/export", api.export, methods=["GET"]),
        Route("/api/memory/import", api.import_, methods=["POST"]),
        Route("/api/memory/retrieve-preview", api.preview, methods=["POST"]),
        Route("/api/memory/extract-preview", api.extract, methods=["POST"]),
    ]


def single_routes(worker: Worker) -> list[Route]:
    """The routes of one memory."""
    api = MemoryApi(worker)
    return [
        Route("/api/memory/{id}", api.get, methods=["GET"]),
        Route("/api/memory/{id}", api.update, methods=["PUT"]),
        Route("/api/memory/{id}", api.delete, methods=["DELETE"]),
    ]


class MemoryApi:
    """Lists, reads and changes memories."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._store = worker.store

    async def list_page(self, request: Request) -> Response:
        query = Query(request.scope["query_string"])
        type_: Any = query.choice("type", *MEMORY_TYPES)
        wanted = Selection(
            type=type_,
            session_id=query.text("sessionId", MAX_SESSION),
            text=query.text("q", _MAX_TEXT) or None,
        )
        limit = query.whole("limit", 1, 200) or 50
        page = query.whole("page", 1, _MAX_PLACE) or 1
        offset = query.whole("offset", 0, _MAX_PLACE)
        if offset is None:
            offset = (page - 1) * limit
        listing = await self._worker.listing(query.owner(), wanted, limit=limit, offset=offset)
        return _json(listing.to_json())

    async def create(self, request: Request) -> Response:
        body = read_body(MemoryBody, await request.body())
        memory = await self._store.create(
            body.apiKeyId,
            body.key,
            body.content,
            type=body.type,
            session_id=body.sessionId,
            metadata=body.metadata,
            expires_at=body.expiresAt if "expiresAt" in body.model_fields_set else UNSET,
        )
        return _changed(memory)

    async def get(self, request: Request) -> Response:
        memory = await self._store.get(_id(request))
        if memory is None:
            raise _missing()
        return _json({"memory": memory.to_json()})

    async def update(self, request: Request) -> Response:
        memory_id = _id(request)
        body = read_body(MemoryChange, await request.body())
        changes = {
            _CHANGED.get(name, name): value
            for name, value in body.given(*MemoryChange.model_fields).items()
        }
        memory = await self._store.update(memory_id, changes)
        if memory is None:
            raise _missing()
        return _changed(memory)

    async def delete(self, request: Request) -> Response:
        if not await self._store.delete(_id(request)):
            raise _missing()
        return _json({"success": True})

    async def delete_many(self, request: Request) -> Response:
        body = read_body(DeleteBody, await request.body())
        if body.ids is not None:
            ids = {memory_id for one in body.ids if (memory_id := _uuid(one)) is not None}
            deleted = await self._store.delete_anywhere(sorted(ids))
        else:
            selection = Selection(
                (body.apiKeyId or "",),
                type=body.type,
                session_id=body.sessionId,
                older_than=body.olderThan,
            )
            deleted = await self._store.delete_all(selection)
        return _json({"deletedCount": deleted})

    async def export(self, request: Request) -> Response:
        owner = Query(request.scope["query_string"]).owner()
        owners = tuple(await self._store.owners()) if owner is None else (owner,)
        memories = self._store.export(Selection(owners))
        # The first is fetched before the response starts, so that a failure can still be reported.
        first = await anext(memories, None)
        return StreamingResponse(
            _lines(first, memories),
            media_type="application/x-ndjson",
            headers={"content-disposition": 'attachment; filename="memories.ndjson"'},
        )

    async def import_(self, request: Request) -> Response:
        query = Query(request.scope["query_string"])
        on_conflict: Any = query.choice("onConflict", "merge", "skip", "replace") or "merge"
        owner = query.owner()
        body = await request.body()
        result = await import_memories(self._store, body, api_key_id=owner, on_conflict=on_conflict)
        return _json(result.to_json())

    async def preview(self, request: Request) -> Response:
        body = read_body(PreviewBody, await request.body())
        configuration = await self._worker.configuration()
        config = RetrievalConfig(
            max_tokens=body.maxTokens,
            strategy=body.strategy,
            scope=body.scope or configuration.scope,
            retention_days=configuration.retentionDays,
            query=body.query,
            session_id=body.sessionId or None,
            limit=body.limit,
        )
        found = await retrieve(self._store, body.apiKeyId, config)
        return _json(_preview(found, body.maxTokens))

    async def extract(self, request: Request) -> Response:
        body = read_body(ExtractBody, await request.body())
        facts = extract_facts_from_text(body.text, body.speaker)
        return _json({"facts": [fact_json(fact) for fact in facts]})


def fact_json(fact: Any) -> dict[str, str]:
    """A fact as REST shows it."""
    names = ("key", "content", "type", "category", "polarity", "speaker")
    return {name: getattr(fact, name) for name in names}


def _preview(found: Retrieved, budget: int) -> dict[str, Any]:
    resolution = found.resolution
    return {
        "memories": [
            {
                "id": one.memory.id,
                "type": one.memory.type,
                "key": one.memory.key,
                "content": one.memory.content,
                "score": one.score,
                "tokens": one.tokens,
                "tier": one.tier,
                "vecScore": one.vec_score,
                "ftsScore": one.fts_score,
            }
            for one in found.ranked
        ],
        "resolution": {
            "embeddingSource": resolution.embedding_source,
            "embeddingModel": resolution.embedding_model,
            "strategyUsed": resolution.strategy_used,
            "fallbackReason": resolution.fallback_reason,
        },
        "totalTokensUsed": found.tokens,
        "budgetMaxTokens": budget,
    }


async def _lines(first: Memory | None, rest: AsyncIterator[Memory]) -> AsyncIterator[bytes]:
    if first is None:
        return
    yield _line(first)
    async for memory in rest:
        yield _line(memory)


def _line(memory: Memory) -> bytes:
    # Not orjson, which has no integers of more than 64 bits.
    return json.dumps(memory.to_json(), ensure_ascii=False).encode() + b"\n"


def _changed(memory: Memory) -> Response:
    return _json({"success": True, "id": memory.id, "memory": memory.to_json()})


def _json(value: Any) -> Response:
    return JSONResponse(value)


def _missing() -> Missing:
    return Missing("no memory has this id")


def _id(request: Request) -> str:
    memory_id = _uuid(request.path_params["id"])
    if memory_id is None:
        raise _missing()
    return memory_id


def _uuid(text: str) -> str | None:
    """A UUID in canonical form, in lower case; None for anything else."""
    return text.lower() if is_id(text) else None
