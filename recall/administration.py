"""The REST API for settings, keys, engine status and summaries."""

import asyncio
import logging
from typing import Any
from uuid import UUID

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from contract import BadRequest
from contract.model import load_json
from recall.configuration import Configuration
from recall.errors import Missing, invalid, refused
from recall.memory import Memory
from recall.requests import (
    KeyBody,
    KeyChange,
    Query,
    ReindexBody,
    RestoreBody,
    SummarizeBody,
    read_body,
)
from recall.selection import Selection
from recall.worker import Worker

log = logging.getLogger(__name__)


def administration_routes(worker: Worker) -> list[Route]:
    """The routes."""
    api = Administration(worker)
    return [
        Route("/api/settings/memory", api.settings, methods=["GET"]),
        Route("/api/settings/memory", api.change_settings, methods=["PUT"]),
        Route("/api/keys", api.keys, methods=["GET"]),
        Route("/api/keys", api.add_key, methods=["POST"]),
        Route("/api/keys/{id:path}", api.change_key, methods=["PATCH"]),
        Route("/api/keys/{id:path}", api.remove_key, methods=["DELETE"]),
        Route("/api/memory/health", api.health, methods=["GET"]),
        Route("/api/memory/engine-status", api.engine_status, methods=["GET"]),
        Route("/api/memory/reindex", api.reindex, methods=["POST"]),
        Route("/api/memory/summarize", api.summarize, methods=["POST"]),
        Route("/api/memory/restore", api.restore, methods=["POST"]),
        Route("/api/memory/runs", api.runs, methods=["GET"]),
    ]


class Administration:
    """Settings, keys, engine, summaries."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._reindexing: set[asyncio.Task[None]] = set()

    async def settings(self, request: Request) -> Response:  # noqa: ARG002 - a handler's signature
        return JSONResponse((await self._worker.configuration()).to_json())

    async def change_settings(self, request: Request) -> Response:
        changes = checked_settings(await request.body())
        return JSONResponse((await self._worker.change_configuration(changes)).to_json())

    async def keys(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse({"keys": await self._worker.keys.all()})

    async def add_key(self, request: Request) -> Response:
        body = read_body(KeyBody, await request.body())
        return JSONResponse(await self._worker.keys.add(body.name))

    async def change_key(self, request: Request) -> Response:
        body = read_body(KeyChange, await request.body())
        changed = await self._worker.keys.change(
            _key_id(request), name=body.name, disabled=body.disabled
        )
        if changed is None:
            raise Missing("no API key has this id")
        return JSONResponse(changed)

    async def remove_key(self, request: Request) -> Response:
        query = Query(request.scope["query_string"])
        forgets = query.choice("memories", "keep", "delete") == "delete"
        key_id = _key_id(request)
        keys, deleted = self._worker.keys, 0
        # The key goes last: if the plugin is down, the same request can be sent again. Until then
        # nobody can use it.
        if forgets and await keys.change(key_id, name=None, disabled=True) is not None:
            deleted = await self._worker.store.delete_all(Selection((key_id,)))
        if not await keys.remove(key_id):
            raise Missing("no API key has this id")
        return JSONResponse({"success": True, "deletedCount": deleted})

    async def health(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse(await self._worker.engine.health())

    async def engine_status(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse(await self._worker.engine.status())

    async def reindex(self, request: Request) -> Response:
        raw = await request.body()
        body = read_body(ReindexBody, raw) if raw.strip() else ReindexBody()
        waiting = await self._worker.engine.reindex_list(force=body.force)
        if waiting:
            task = asyncio.create_task(self._reindex(waiting))
            self._reindexing.add(task)
            task.add_done_callback(self._reindexing.discard)
        return JSONResponse({"queued": len(waiting)}, 202)

    async def summarize(self, request: Request) -> Response:
        raw = await request.body()
        body = read_body(SummarizeBody, raw) if raw.strip() else SummarizeBody()
        worker = self._worker
        keep_days = (await worker.configuration()).retentionDays
        owners = list(await worker.store.owners()) if body.apiKeyId is None else [body.apiKeyId]
        done = await worker.summariser.summarize(
            owners,
            session_id=body.sessionId,
            older_than_days=body.olderThanDays,
            max_tokens=body.maxTokens,
            dry_run=body.dryRun,
            keep_days=keep_days,
        )
        return JSONResponse(done)

    async def restore(self, request: Request) -> Response:
        body = read_body(RestoreBody, await request.body())
        try:
            run_id = str(UUID(body.runId))
        except ValueError:
            raise Missing("no run has this id") from None
        restored = await self._worker.summariser.restore(run_id)
        if restored is None:
            raise Missing("no run has this id")
        return JSONResponse({"restoredCount": restored[0], "skipped": restored[1]})

    async def runs(self, request: Request) -> Response:
        owner = Query(request.scope["query_string"]).owner()
        return JSONResponse({"runs": await self._worker.runs.shown(owner)})

    async def _reindex(self, memories: list[Memory]) -> None:
        await self._worker.engine.reindex(memories)
        log.info("reindexed", extra={"memories": len(memories)})


def checked_settings(body: bytes) -> dict[str, Any]:
    """The changed settings; raises `Invalid` if one is unknown or out of range."""
    try:
        given = load_json(body)
    except BadRequest as error:
        raise invalid("body", error.message.removeprefix("body: ")) from None
    if not isinstance(given, dict):
        raise invalid("body", "must be a JSON object")
    # Read-only, but clients send it back when they edit what GET returned.
    given.pop("effectiveMaxTokens", None)
    try:
        checked = Configuration.model_validate(given)
    except ValidationError as error:
        raise refused(error) from None
    return checked.model_dump(include=checked.model_fields_set)


def _key_id(request: Request) -> str:
    key_id: str = request.path_params["id"]
    if "\x00" in key_id or any(0xD800 <= ord(c) < 0xE000 for c in key_id):
        raise Missing("no API key has this id")
    return key_id
