"""The in-memory plugin of the harness on a port, with access to its store."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse

from contract import CAPABILITIES, EXTENSIONS, MemoryWrite, MemoryWriteResponse
from harness.example import ExamplePlugin, Store


class ForgetfulStore(Store):
    """Acknowledges every write and drops every 100th."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        self.writes += 1
        answer = super().write(name, body)
        if self.writes % 100 == 0:
            del self.spaces[name].rows[answer.id], self.home[answer.id]
        return answer


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an ASGI application in a thread; yields its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, log_level="error", lifespan="off", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def plugin(store: Store, *without: str) -> ExamplePlugin:
    """A plugin with some capabilities and extensions switched off."""
    return ExamplePlugin(
        store,
        [name for name in CAPABILITIES if name not in without],
        [name for name in EXTENSIONS if name not in without],
    )


@dataclass(frozen=True)
class Trouble:
    """An answer instead of the plugin's."""

    status: int
    content: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


def refusing(status: int, code: str, message: str = "no", **headers: str) -> Trouble:
    """An Error envelope."""
    return Trouble(status, {"code": code, "message": message}, headers)


def at_peace(*_: object) -> None:
    """No trouble."""


class Troubled:
    """An ASGI application in front of another that answers some requests itself.

    `trouble` gets the path and the body of a request, and returns a status, a JSON object and
    headers, or None to pass the request on.
    """

    def __init__(self) -> None:
        self.app: Any = None
        self.trouble: Callable[[str, bytes], Trouble | None] = at_peace
        self.paths: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        body = await request.body()
        self.paths.append(request.url.path)
        trouble = self.trouble(request.url.path, body)
        if trouble is None:

            async def again() -> Any:
                return {"type": "http.request", "body": body, "more_body": False}

            await self.app(scope, again, send)
            return
        answer = JSONResponse(trouble.content, trouble.status, trouble.headers)
        await answer(scope, receive, send)
