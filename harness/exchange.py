"""HTTP that remembers: every request of a check and its answer, for the report."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from contract import Error, MemoryPluginError, parse
from harness.errors import Failure

AT_ONCE = 100
_SHOWN = 300


class NoAnswer(Exception):
    """The request was sent and nothing came back: a timeout, or a broken connection."""


@dataclass(frozen=True)
class Request:
    """What was sent."""

    method: str
    path: str
    body: bytes | None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Exchange:
    """A request, its answer and when both were, in seconds of a clock that never jumps.

    `at` is when it was sent on the clock on the wall.
    """

    request: Request
    at: datetime
    sent: float
    received: float
    status: int | None
    headers: httpx.Headers
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON; a Failure when it is something else."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise Failure("a body that is JSON", self.shown) from None

    @property
    def object(self) -> dict[str, Any]:
        """The body as a JSON object; a Failure when it is something else."""
        value = self.json
        if not isinstance(value, dict):
            raise Failure("a body that is a JSON object", self.shown)
        return value

    @property
    def shown(self) -> str:
        """The answer for people: status and the start of the body."""
        text = self.body.decode("utf-8", "backslashreplace")
        text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(self.body)} bytes)"
        return f"{self.status} {text}".rstrip()

    def expect(self, *statuses: int) -> "Exchange":
        """Fail unless it was answered with one of these statuses."""
        if self.status not in statuses:
            wanted = " or ".join(str(status) for status in statuses)
            raise Failure(f"{wanted} for {self.request.method} {self.request.path}", self.shown)
        return self

    def expect_error(self, status: int, code: str) -> "Exchange":
        """Fail unless it was refused with this status and the Error envelope with this code."""
        self.expect(status)
        envelope = self.envelope()
        if envelope.code != code:
            raise Failure(f"an Error envelope with code {code}", self.shown)
        return self

    def envelope(self) -> Error:
        """The Error envelope of an answer that is not 2xx; a Failure when it is none."""
        try:
            return parse(Error, self.body)
        except MemoryPluginError as error:
            raise Failure(f"the Error envelope ({error})", self.shown) from None


class Wire:
    """The one connection to a plugin that all checks of a run share.

    At most 100 requests are under way; the others wait here, where their time does not count
    yet, so that a busy harness does not look like a slow plugin.
    """

    def __init__(
        self,
        clients: Sequence[httpx.AsyncClient],
        why_it_broke: Callable[[], str | None] | None = None,
    ) -> None:
        # Only an application in this process can say more than its answer does.
        self.why_it_broke = why_it_broke or (lambda: None)
        # Last in, first out: the client used last has a connection that is still open.
        self._free: asyncio.LifoQueue[httpx.AsyncClient] = asyncio.LifoQueue()
        for client in clients:
            for _ in range(AT_ONCE // len(clients)):
                self._free.put_nowait(client)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client that may send one request now."""
        client = await self._free.get()
        try:
            yield client
        finally:
            self._free.put_nowait(client)


class Recorder:
    """Sends requests for one check and keeps them in order."""

    def __init__(self, wire: Wire, timeout: float) -> None:
        self._wire = wire
        self._timeout = timeout
        self.exchanges: list[Exchange] = []
        self.waits: list[float] = []

    def why_it_broke(self) -> str | None:
        """What the plugin raised instead of its last answer, if it runs in this process."""
        return self._wire.why_it_broke()

    async def send(self, request: Request) -> Exchange:
        """The exchange, whatever the status; NoAnswer when there is no answer in time."""
        async with self._wire.client() as client:
            at, sent = datetime.now(UTC), time.monotonic()
            status, headers, body, failure = None, httpx.Headers(), b"", ""
            try:
                async with asyncio.timeout(self._timeout):
                    response = await client.request(
                        request.method, request.path, content=request.body, headers=request.headers
                    )
                status, headers, body = response.status_code, response.headers, response.content
            except TimeoutError:
                failure = f"no answer within {self._timeout:g} s"
            except httpx.HTTPError as error:
                failure = f"the connection broke ({type(error).__name__}: {error})"
            received = time.monotonic()
        exchange = Exchange(request, at, sent, received, status, headers, body)
        self.exchanges.append(exchange)
        if status is None:
            raise NoAnswer(f"{request.method} {request.path}: {failure}")
        return exchange
