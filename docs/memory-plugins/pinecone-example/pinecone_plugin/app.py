"""The seven endpoints and `batch`, as a Starlette app.

    PINECONE_HOST=https://my-index-abc123.svc.aped-1234-a1b2.pinecone.io \\
    PINECONE_API_KEY=... python -m pinecone_plugin
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from contract import (
    CONTRACT_VERSION,
    BadRequest,
    BatchWrite,
    ForgetRequest,
    MemoryId,
    MemoryPluginError,
    MemoryWrite,
    NamespaceName,
    NamespacePatch,
    NamespaceUpsert,
    NotFound,
    SearchRequest,
    SearchResponse,
    Unavailable,
    WireModel,
    parse,
    parse_value,
    parse_writes,
)
from pinecone_plugin.index import Index
from pinecone_plugin.memories import Memories, Outcome
from pinecone_plugin.namespaces import Namespaces

OFFER = {
    "version": CONTRACT_VERSION,
    "capabilities": ["embedding", "ttl", "pin", "propagation"],
    "extensions": ["batch"],
}
MAX_BODY = 8 * 1024 * 1024


class Endpoints:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._namespaces = Namespaces(index)
        self._memories = Memories(index, self._namespaces)

    async def health(self, _request: Request) -> Response:
        try:
            await self._index.stats()
        except Unavailable as error:
            return _error(error, {"status": "degraded", **OFFER})
        return JSONResponse({"status": "ok", **OFFER})

    async def put_namespace(self, request: Request) -> Response:
        name, body = _name(request), parse(NamespaceUpsert, await _body(request))
        return _json(await self._namespaces.put(name, body))

    async def patch_namespace(self, request: Request) -> Response:
        name, body = _name(request), parse(NamespacePatch, await _body(request))
        return _json(await self._namespaces.patch(name, body))

    async def delete_namespace(self, request: Request) -> Response:
        await self._namespaces.delete(_name(request))
        return Response(status_code=204)

    async def write(self, request: Request) -> Response:
        name, body = _name(request), parse(MemoryWrite, await _body(request))
        write = BatchWrite(namespace=name, **body.model_dump(exclude_unset=True))
        [outcome] = await self._memories.write([write])
        if isinstance(outcome, MemoryPluginError):
            raise outcome
        return _json(outcome, 201)

    async def search(self, request: Request) -> Response:
        body = parse(SearchRequest, await _body(request))
        return _json(SearchResponse(memories=await self._memories.search(body)))

    async def forget(self, request: Request) -> Response:
        memory_id = parse_value(MemoryId, request.path_params["id"], "id")
        body = parse(ForgetRequest, await _body(request))
        await self._memories.forget(memory_id, body.requested_by_namespace)
        return Response(status_code=204)

    async def batch(self, request: Request) -> Response:
        writes = parse_writes(await _body(request))
        good = [write for write in writes if isinstance(write, BatchWrite)]
        outcomes = iter(await self._memories.write(good))
        results = [next(outcomes) if isinstance(write, BatchWrite) else write for write in writes]
        return JSONResponse({"results": [_result(outcome) for outcome in results]})


def create_app(
    host: str, api_key: str, *, transport: httpx.AsyncBaseTransport | None = None
) -> Starlette:
    """The plugin for the index at `host`; `transport` is for tests."""
    index = Index(host, api_key, transport=transport)
    endpoints = Endpoints(index)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await index.aclose()

    handlers: Any = {
        MemoryPluginError: _on_contract_error,
        HTTPException: _on_http_error,
        Exception: _on_bug,
    }
    app = Starlette(
        lifespan=lifespan,
        exception_handlers=handlers,
        routes=[
            Route("/v1/health", endpoints.health, methods=["GET"]),
            Route("/v1/namespaces/{name}", endpoints.put_namespace, methods=["PUT"]),
            Route("/v1/namespaces/{name}", endpoints.patch_namespace, methods=["PATCH"]),
            Route("/v1/namespaces/{name}", endpoints.delete_namespace, methods=["DELETE"]),
            Route("/v1/namespaces/{name}/memories", endpoints.write, methods=["POST"]),
            Route("/v1/search", endpoints.search, methods=["POST"]),
            Route("/v1/memories/batch", endpoints.batch, methods=["POST"]),
            Route("/v1/memories/{id}", endpoints.forget, methods=["DELETE"]),
        ],
    )
    app.add_middleware(_EncodedSlashes)
    app.router.redirect_slashes = False
    return app


class _EncodedSlashes:
    """Starlette decodes %2F before it splits the path; in the contract it belongs to the name."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and b"%2f" in scope["raw_path"].lower():
            scope["path"] = "/"  # no such name is valid, and no endpoint is here: 404
        await self._app(scope, receive, send)


def _name(request: Request) -> str:
    return str(parse_value(NamespaceName, request.path_params["name"], "name"))


async def _body(request: Request) -> bytes:
    chunks = bytearray()
    async for chunk in request.stream():
        chunks += chunk
        if len(chunks) > MAX_BODY:
            raise BadRequest(f"body: must be at most {MAX_BODY} bytes", status=413)
    return bytes(chunks)


def _json(model: WireModel, status: int = 200) -> Response:
    return Response(model.to_json(), status, media_type="application/json")


def _result(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, MemoryPluginError):
        return {"error": outcome.envelope()}
    return outcome.model_dump(mode="json")


def _error(error: MemoryPluginError, beside: dict[str, Any] | None = None) -> Response:
    headers = {}
    if isinstance(error, Unavailable):
        headers["retry-after"] = str(round(error.retry_after or 1))
    return JSONResponse(error.envelope() | (beside or {}), error.status, headers)


async def _on_contract_error(_request: Request, error: MemoryPluginError) -> Response:
    return _error(error)


async def _on_http_error(request: Request, error: HTTPException) -> Response:
    """What the router refuses: 404 for an unknown path, 405 for a method."""
    message = f"{request.method} {request.url.path} is not an endpoint of this plugin"
    kind = NotFound if error.status_code == 404 else BadRequest
    response = _error(kind(message, status=error.status_code))
    response.headers.update(error.headers or {})
    return response


async def _on_bug(_request: Request, error: Exception) -> Response:
    return _error(MemoryPluginError(f"the plugin failed ({type(error).__name__}); see its log"))
