"""MCP at `/mcp`: stateless streamable HTTP, for API keys and the management token.

The official SDK takes a second to load: it is loaded for the first request, in a thread, so that
others do not wait, and servers without MCP clients start faster.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from recall.access import bearer_of, same
from recall.caller import Caller
from recall.errors import Denied, Unauthorized
from recall.gate import is_same_origin
from recall.worker import Worker

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_CALLER = "recall.caller"


class McpEndpoint:
    """The ASGI application behind `/mcp`."""

    def __init__(self, worker: Worker, max_body: int) -> None:
        self._worker = worker
        self._max_body = max_body
        self._asked = asyncio.Event()
        self._ready: asyncio.Future[StreamableHTTPSessionManager] | None = None

    async def run(self) -> None:
        """Load the SDK once there is a request, and serve until cancelled."""
        await self._asked.wait()
        sessions = await asyncio.to_thread(_sessions, self._worker, self._max_body)
        async with sessions.run():
            self._loaded().set_result(sessions)
            try:
                await asyncio.Event().wait()
            finally:
                self._ready = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[_CALLER] = await self._let_in(Request(scope))
        self._asked.set()
        sessions = await asyncio.shield(self._loaded())
        await sessions.handle_request(scope, receive, send)

    def _loaded(self) -> "asyncio.Future[StreamableHTTPSessionManager]":
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
        return self._ready

    async def _let_in(self, request: Request) -> Caller:
        if request.headers.get("origin") is not None and not is_same_origin(request):
            # Pages of other sites must not get in through a visitor's browser.
            raise Denied("requests from web pages of other origins are refused")
        token = bearer_of(request.scope["headers"])
        if token is None:
            raise Unauthorized("an API key or the management token is required")
        if same(token, self._worker.settings.token):
            return Caller(None)
        key = await self._worker.recollection.who(token)
        if key is None or key.disabled:
            raise Unauthorized("an API key or the management token is required")
        return Caller(key.id)


def _sessions(worker: Worker, max_body: int) -> "StreamableHTTPSessionManager":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from recall.tools import Tools, mcp_server

    return StreamableHTTPSessionManager(
        mcp_server(Tools(worker), _caller),
        json_response=True,
        stateless=True,
        max_request_body_size=max_body,
    )


async def _caller(context: "ServerRequestContext[Any]") -> Caller:
    caller = None if context.request is None else context.request.scope.get(_CALLER)
    if not isinstance(caller, Caller):
        raise Unauthorized("the caller is unknown")
    return caller
