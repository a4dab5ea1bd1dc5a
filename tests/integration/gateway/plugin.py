"""A plugin in this process that fails on demand: the harness's example behind a switchboard."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import httpx

from contract import CAPABILITIES, EXTENSIONS, Breaker, Capability, Extension, MemoryClient
from harness.example import ExamplePlugin, Store
from harness.example.store import Space
from tests.waiting import SECONDS


@dataclass
class Switchboard(httpx.AsyncBaseTransport):
    """Passes requests on to the plugin, or not."""

    plugin: ExamplePlugin
    is_down: bool = False
    wants_a_token: bool = False
    loses_answers: bool = False
    refuses: Callable[[str], bool] = lambda _: False
    requests: list[str] = field(default_factory=list)
    # Requests that begin with this, "POST /v1/memories/batch" for one, wait until it is None.
    held: str | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._inner = httpx.ASGITransport(self.plugin.app)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        line = f"{request.method} {request.url.path}"
        body = await request.aread()
        self.requests.append(line)
        if self.is_down:
            raise httpx.ConnectError("nobody listens")
        if self.wants_a_token:
            return httpx.Response(401, json={"code": "unauthorized", "message": "a token, please"})
        while self.held is not None and line.startswith(self.held):
            self.arrived.set()
            await asyncio.sleep(0.01)
        if self.refuses(body.decode()):
            return httpx.Response(400, json={"code": "bad_request", "message": "content: no"})
        response = await self._inner.handle_async_request(request)
        if self.loses_answers:
            raise httpx.ReadError("the connection was cut")
        return response

    def reset(self) -> None:
        """Work again."""
        self.is_down = self.wants_a_token = self.loses_answers = False
        self.refuses = lambda _: False
        self.held = None
        self.arrived.clear()
        self.requests.clear()

    def spaces(self, user_id: str) -> list[Space]:
        """The namespaces of a user of the gateway."""
        return [
            space
            for space in self.plugin.store.spaces.values()
            if (space.stored.metadata or {}).get("user_id") == user_id
        ]

    def texts(self, user_id: str) -> list[str]:
        """The contents of all memories of a user of the gateway."""
        rows = [row for space in self.spaces(user_id) for row in space.rows.values()]
        return sorted(row.content for row in rows)

    def client(self) -> MemoryClient:
        return MemoryClient(
            "http://plugin", transport=self, breaker=Breaker(failures=2**31), timeout=SECONDS
        )


def switchboard(
    capabilities: Collection[Capability] = CAPABILITIES,
    extensions: Collection[Extension] = EXTENSIONS,
) -> Switchboard:
    return Switchboard(ExamplePlugin(Store(), capabilities, extensions))
