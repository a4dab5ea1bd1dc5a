"""A server with our HTTP protocol, in the event loop of a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from serving.protocol import Protocol


@asynccontextmanager
async def listening(
    keep_alive: int,
    state: ServerState | None = None,
    app: ASGIApp | None = None,
    kind: type[Protocol] = Protocol,
    shutdown_timeout: int | None = None,
) -> AsyncIterator[int]:
    """The port of a server that answers `ok`, or what `app` does."""
    config = uvicorn.Config(
        app or PlainTextResponse("ok"),
        timeout_keep_alive=keep_alive,
        timeout_graceful_shutdown=shutdown_timeout,
        interface="asgi3",
        log_config=None,
    )
    shared = state or ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: kind(config=config, server_state=shared, app_state={}), "127.0.0.1", 0
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
