"""The obvious pass-through proxy: 30 lines of Starlette and httpx.

`python -m bench.recall_bare UPSTREAM` prints its port.
"""

import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

_DROPPED = {"host", "connection", "transfer-encoding"}
upstream: httpx.AsyncClient


async def pass_through(request: Request) -> StreamingResponse:
    headers = [(k, v) for k, v in request.headers.raw if k.decode() not in _DROPPED]
    asked = upstream.build_request(
        request.method, request.url.path, headers=headers, content=await request.body()
    )
    answer = await upstream.send(asked, stream=True)
    kept = {k: v for k, v in answer.headers.items() if k not in _DROPPED}
    return StreamingResponse(answer.aiter_raw(), answer.status_code, kept)


@asynccontextmanager
async def lifespan(_app: Starlette) -> AsyncIterator[None]:
    global upstream
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=sys.argv[1], timeout=600, limits=limits) as upstream:
        yield


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    app = Starlette(
        routes=[Route("/{path:path}", pass_through, methods=["GET", "POST"])], lifespan=lifespan
    )
    uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="warning")).run([listener])
