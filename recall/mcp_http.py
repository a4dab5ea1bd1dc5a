"""MCP at `/mcp`: stateless streamable HTTP, for API keys and the management token."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from recall.access import bearer_of, same
from recall.errors import Denied, Unauthorized
from recall.gate import is_same_origin
from recall.tools import Caller, Tools, mcp_server
from recall.worker import Worker

_CALLER = "recall.caller"


class McpEndpoint:
    """The ASGI application behind `/mcp`."""

    def __init__(self, worker: Worker, tools: Tools, max_body: int) -> None:
        self._worker = worker
        self._sessions = StreamableHTTPSessionManager(
            mcp_server(tools, _caller),
            json_response=True,
            stateless=True,
            max_request_body_size=max_body,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Around the life of a worker."""
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        scope[_CALLER] = await self._let_in(request)
        await self._sessions.handle_request(scope, receive, send)

    async def _let_in(self, request: Request) -> Caller:
        if request.headers.get("origin") is not None and not is_same_origin(request):
            # A page of a stranger must not use what a browser can reach.
            raise Denied("requests of web pages of other servers are refused")
        token = bearer_of(request.scope["headers"])
        if token is None:
            raise Unauthorized("an API key or the management token is required")
        if same(token, self._worker.settings.token):
            return Caller(None)
        key = await self._worker.recollection.who(token)
        if key is None or key.disabled:
            raise Unauthorized("an API key or the management token is required")
        return Caller(key.id)


async def _caller(context: ServerRequestContext[Any]) -> Caller:
    caller = None if context.request is None else context.request.scope.get(_CALLER)
    if not isinstance(caller, Caller):
        raise Unauthorized("nobody is known to call")
    return caller
