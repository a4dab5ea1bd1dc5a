"""The seven endpoints and the extensions over HTTP, as a Starlette application."""

from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Any, TypeVar
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from contract import (
    CAPABILITIES,
    CONTRACT_VERSION,
    EXTENSIONS,
    BadRequest,
    BatchFailure,
    BatchResponse,
    BatchWrite,
    Capability,
    CountRequest,
    Error,
    Extension,
    ForgetRequest,
    HealthResponse,
    ListRequest,
    MemoryId,
    MemoryPluginError,
    MemoryWrite,
    MemoryWriteResponse,
    NamespaceName,
    NamespacePatch,
    NamespaceUpsert,
    NotFound,
    SearchRequest,
    SearchResponse,
    WireModel,
    parse,
    parse_value,
    parse_writes,
    understood,
)
from harness.example.store import Store

MAX_BODY = 32 * 1024 * 1024

AnyModel = TypeVar("AnyModel", bound=WireModel)
Endpoint = Callable[[Request], Awaitable[Response]]


class ExamplePlugin:
    """A store behind the contract's endpoints. `app` is the ASGI application."""

    def __init__(
        self,
        store: Store,
        capabilities: Collection[Capability] = CAPABILITIES,
        extensions: Collection[Extension] = EXTENSIONS,
    ) -> None:
        self.store = store
        self.capabilities = [name for name in CAPABILITIES if name in capabilities]
        self.extensions = [name for name in EXTENSIONS if name in extensions]
        handlers: Any = {
            MemoryPluginError: _refuse,
            HTTPException: _refuse_http,
            Exception: _fail,
        }
        self.app = Starlette(routes=list(self.routes()), exception_handlers=handlers)
        self.app.router.redirect_slashes = False
        self.app.add_middleware(_ByRawPath)

    def routes(self) -> Iterable[Route]:
        """The endpoints of the contract, and those of the extensions that are switched on."""
        yield Route("/v1/health", self.health, methods=["GET"])
        yield Route("/v1/namespaces/{name}", self.put_namespace, methods=["PUT"])
        yield Route("/v1/namespaces/{name}", self.patch_namespace, methods=["PATCH"])
        yield Route("/v1/namespaces/{name}", self.delete_namespace, methods=["DELETE"])
        yield Route("/v1/namespaces/{name}/memories", self.write, methods=["POST"])
        yield Route("/v1/search", self.search, methods=["POST"])
        if "batch" in self.extensions:
            yield Route("/v1/memories/batch", self.batch, methods=["POST"])
        if "list" in self.extensions:
            yield Route("/v1/memories/list", self.list_memories, methods=["POST"])
        if "browse" in self.extensions:
            yield Route("/v1/memories/count", self.count, methods=["POST"])
        if "get" in self.extensions:
            yield Route("/v1/memories/{id}", self.get_memory, methods=["GET"])
        yield Route("/v1/memories/{id}", self.forget, methods=["DELETE"])

    async def health(self, request: Request) -> Response:  # noqa: ARG002 (Starlette passes it)
        body = HealthResponse(
            status="ok",
            version=CONTRACT_VERSION,
            capabilities=self.capabilities,
            extensions=self.extensions,
        )
        return answer(200, body)

    async def put_namespace(self, request: Request) -> Response:
        name = namespace_of(request)
        body = await self.read(NamespaceUpsert, request)
        return answer(200, self.store.put_namespace(name, body))

    async def patch_namespace(self, request: Request) -> Response:
        name = namespace_of(request)
        body = await self.read(NamespacePatch, request)
        return answer(200, self.store.patch_namespace(name, body))

    async def delete_namespace(self, request: Request) -> Response:
        self.store.delete_namespace(namespace_of(request))
        return Response(status_code=204)

    async def write(self, request: Request) -> Response:
        name = namespace_of(request)
        body = await self.read(MemoryWrite, request)
        return answer(201, self.store.write(name, body))

    async def search(self, request: Request) -> Response:
        body = await self.read(SearchRequest, request)
        return answer(200, SearchResponse(memories=self.store.search(body)))

    async def forget(self, request: Request) -> Response:
        memory = parse_value(MemoryId, segment(request, "id"), "id")
        body = await self.read(ForgetRequest, request)
        self.store.forget(memory, body.requested_by_namespace)
        return Response(status_code=204)

    async def batch(self, request: Request) -> Response:
        writes = parse_writes(await read_body(request))
        return answer(200, BatchResponse(results=[self.write_one(write) for write in writes]))

    async def list_memories(self, request: Request) -> Response:
        return answer(200, self.store.list_page(await self.read(ListRequest, request)))

    async def count(self, request: Request) -> Response:
        return answer(200, self.store.count(await self.read(CountRequest, request)))

    async def get_memory(self, request: Request) -> Response:
        memory = parse_value(MemoryId, segment(request, "id"), "id")
        name = parse_value(NamespaceName, request.query_params.get("namespace"), "namespace")
        return answer(200, self.store.get(memory, name))

    def write_one(self, write: BatchWrite | BadRequest) -> MemoryWriteResponse | BatchFailure:
        """One write of a batch; a failure affects no other write."""
        try:
            if isinstance(write, BadRequest):
                raise write
            return self.store.write(write.namespace, self.understand(write))
        except MemoryPluginError as error:
            return BatchFailure(error=Error(**error.envelope()))

    async def read(self, model: type[AnyModel], request: Request) -> AnyModel:
        """The body without the fields of what is switched off."""
        return self.understand(parse(model, await read_body(request)))

    def understand(self, body: AnyModel) -> AnyModel:
        """Ignore the fields of what is not listed, as if they were absent."""
        return understood(body, self.capabilities, self.extensions)


class _ByRawPath:
    """Routes by the path as it was sent: an encoded slash does not split a name."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "path": scope["raw_path"].decode("latin-1")}
        await self._app(scope, receive, send)


def create_app(
    capabilities: Collection[Capability] = CAPABILITIES,
    extensions: Collection[Extension] = EXTENSIONS,
) -> Starlette:
    """The example as an ASGI application with an empty store; name less to switch things off."""
    return ExamplePlugin(Store(), capabilities, extensions).app


def answer(status: int, body: WireModel) -> Response:
    """A JSON answer; unset fields are left out."""
    return Response(body.to_json(), status, media_type="application/json")


def namespace_of(request: Request) -> str:
    """The namespace in the path."""
    name: str = parse_value(NamespaceName, segment(request, "name"), "name")
    return name


def segment(request: Request, name: str) -> str:
    """A variable segment of the path, decoded; bytes that are not UTF-8 make the name invalid."""
    return unquote(request.path_params[name], errors="surrogateescape")


async def read_body(request: Request) -> bytes:
    """The whole body, whatever its Content-Type, up to a limit."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise BadRequest(f"body: must not be larger than {MAX_BODY} bytes", status=413)
    return bytes(body)


async def _refuse(request: Request, error: MemoryPluginError) -> Response:  # noqa: ARG001
    return answer(error.status, Error(**error.envelope()))


async def _refuse_http(request: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        return await _refuse(request, NotFound(f"there is no {request.url.path}"))
    message = f"{request.method} {request.url.path}: {error.detail}"
    refused = await _refuse(request, BadRequest(message, status=error.status_code))
    refused.headers.update(error.headers or {})
    return refused


async def _fail(request: Request, error: Exception) -> Response:
    cause = f"{request.method} {request.url.path} broke with {type(error).__name__}"
    return await _refuse(request, MemoryPluginError(f"internal error: {cause}"))
