"""A plugin with scripted answers: correct, wrong, late or none.

It uses HTTP/1.1 over a real socket, so that a test can cut a connection anywhere.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEALTH = {
    "status": "ok",
    "version": "1.0.0",
    "capabilities": ["embedding", "fts", "ttl", "pin", "propagation"],
    "extensions": ["batch", "list", "filter", "browse", "get"],
}


@dataclass(frozen=True)
class Reply:
    """One answer. `body` is sent as JSON unless it is bytes."""

    status: int = 200
    body: Any = b""
    headers: dict[str, str] = field(default_factory=dict)
    never: bool = False
    """Accept the request and never answer."""
    cut: bool = False
    """Reset the connection in the middle of the body."""
    hang_up: bool = False
    """Close the connection instead of answering."""

    @property
    def payload(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def health(*capabilities: str, extensions: list[str] | None = None) -> Reply:
    return Reply(body=HEALTH | {"capabilities": capabilities, "extensions": extensions})


def failure(status: int, code: str = "unavailable", message: str = "no", **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"code": code, "message": message}, named)


@dataclass(frozen=True)
class Request:
    """What the stub was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Stub:
    """`answer` sets the next replies for a method and a path; the last one is repeated."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self._replies: dict[tuple[str, str], list[Reply]] = defaultdict(list)
        self._arrival = asyncio.Condition()
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self.answer("GET", "/v1/health", Reply(body=HEALTH))

    def answer(self, method: str, path: str, *replies: Reply) -> None:
        self._replies[method, path] = list(replies)

    def asked(self, method: str, path: str) -> list[Request]:
        """The requests for a method and a path, in order."""
        return [it for it in self.requests if (it.method, it.path) == (method, path)]

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a new connection."""
        self._connections[asyncio.create_task(self._serve(reader, writer))] = writer

    async def wait_for(self, count: int) -> None:
        """Until `count` requests have come."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: len(self.requests) >= count)

    async def drop(self) -> None:
        """Reset the connections, including those waiting for an answer."""
        for writer in self._connections.values():
            writer.transport.abort()
        await asyncio.gather(*self._connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._serve_one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        async with self._arrival:
            self.requests.append(Request(method, path, headers, body))
            self._arrival.notify_all()
        reply = self._next(method, path)
        if reply.never:
            await reader.read()
        if reply.never or reply.hang_up:
            return False
        length = len(reply.payload) + (100 if reply.cut else 0)
        bare = reply.status == 204 or "Transfer-Encoding" in reply.headers
        own = {} if bare else {"Content-Length": str(length)}
        shown = "".join(f"{k}: {v}\r\n" for k, v in (own | reply.headers).items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{shown}\r\n".encode() + reply.payload)
        await writer.drain()
        if reply.cut:
            writer.transport.abort()
            return False
        return True

    def _next(self, method: str, path: str) -> Reply:
        replies = self._replies[method, path]
        if not replies:
            return failure(404, "not_found", f"the stub has no {method} {path}")
        return replies.pop(0) if len(replies) > 1 else replies[0]


@asynccontextmanager
async def serving(socket: Path | None = None) -> AsyncIterator[Stub]:
    """A stub on a free port of the loopback, or on a unix socket."""
    stub = Stub()
    if socket is None:
        server = await asyncio.start_server(stub.accept, "127.0.0.1", 0)
        stub.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    else:
        server = await asyncio.start_unix_server(stub.accept, str(socket))
        stub.url = f"unix:{socket}"
    try:
        yield stub
    finally:
        server.close()
        await stub.drop()
        await server.wait_closed()
