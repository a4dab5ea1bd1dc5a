"""HTTP with a record of every request of a check and its answer, for the report."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from contract import Error, MemoryPluginError, parse
from contract.http1 import AnswerTooLarge
from contract.transport import Transport, TransportError
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
    """A request, its answer and the times of both on a monotonic clock.

    `at` is the wall-clock time at which it was sent.
    """

    request: Request
    at: datetime
    sent: float
    received: float
    status: int | None
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON; a Failure if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise Failure("a body that is JSON", self.shown) from None

    @property
    def object(self) -> dict[str, Any]:
        """The body as a JSON object; a Failure if it is not one."""
        value = self.json
        if not isinstance(value, dict):
            raise Failure("a body that is a JSON object", self.shown)
        return value

    @property
    def shown(self) -> str:
        """The answer in readable form: status and the start of the body."""
        text = self.body.decode("utf-8", "backslashreplace")
        text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(self.body)} bytes)"
        return f"{self.status} {text}".rstrip()

    def expect(self, *statuses: int, rests_on: str | None = None) -> "Exchange":
        """Fail unless it was answered with one of these statuses."""
        if self.status not in statuses:
            wanted = " or ".join(str(status) for status in statuses)
            asked = f"{wanted} for {self.request.method} {self.request.path}"
            raise Failure(asked, self.shown, rests_on)
        return self

    def expect_error(self, status: int, code: str) -> "Exchange":
        """Fail unless it was refused with this status and the Error envelope with this code."""
        self.expect(status)
        envelope = self.envelope()
        if envelope.code != code:
            raise Failure(f"an Error envelope with code {code}", self.shown)
        return self

    def envelope(self) -> Error:
        """The Error envelope of an answer that is not 2xx; a Failure if it is not one."""
        try:
            return parse(Error, self.body)
        except MemoryPluginError as error:
            raise Failure(f"the Error envelope ({error})", self.shown) from None


class Wire:
    """The one connection to a plugin that all checks of a run share.

    At most 100 requests are in flight; the others wait here, before their time is measured, so that
    a busy harness does not look like a slow plugin.
    """

    def __init__(
        self,
        transport: Transport,
        headers: Mapping[str, str],
        why_it_broke: Callable[[], str | None] | None = None,
    ) -> None:
        # Only an application in this process can tell more than its answer does.
        self.why_it_broke = why_it_broke or (lambda: None)
        self.transport = transport
        self.headers = dict(headers)
        self.slots = asyncio.Semaphore(AT_ONCE)


class Recorder:
    """Sends requests for one check and keeps them in order."""

    def __init__(self, wire: Wire, timeout: float) -> None:
        self._wire = wire
        self._timeout = timeout
        self.exchanges: list[Exchange] = []
        self.waits: list[float] = []
        self.commands: list[tuple[float, str]] = []
        """The shell commands that the check ran, and when."""

    def why_it_broke(self) -> str | None:
        """What the plugin raised instead of its last answer, if it runs in this process."""
        return self._wire.why_it_broke()

    async def send(self, request: Request) -> Exchange:
        """The exchange, whatever the status; NoAnswer if there is no answer in time."""
        wire = self._wire
        headers: Mapping[str, str] = {}
        async with wire.slots:
            at, sent = datetime.now(UTC), time.monotonic()
            status, body, failure = None, b"", ""
            try:
                async with asyncio.timeout(self._timeout):
                    answer = await wire.transport.request(
                        request.method, request.path, wire.headers | request.headers, request.body
                    )
                status, headers, body = answer.status, answer.headers, answer.body
            except TimeoutError:
                failure = f"no answer within {self._timeout:g} s"
            except AnswerTooLarge:
                failure = "the response is too large to be read"
            except TransportError as error:
                failure = f"the connection broke ({error})"
            received = time.monotonic()
        exchange = Exchange(request, at, sent, received, status, headers, body)
        self.exchanges.append(exchange)
        if status is None:
            raise NoAnswer(f"{request.method} {request.path}: {failure}")
        return exchange
