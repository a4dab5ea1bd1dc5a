"""One request and its response, as ASGI sees them.

It replaces uvicorn's `RequestResponseCycle` and does the same in fewer steps, because every request
of every server passes through here. The head of a response and the first part of its body are sent
together, because each write wakes the client. A head whose body is not ready yet is sent alone, and
later parts are sent at once.
"""

import asyncio
import logging
import re
from collections.abc import Callable, MutableMapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message
from uvicorn.protocols.http.flow_control import FlowControl

from serving.errors import CutShort

Headers = Sequence[tuple[bytes, bytes]]

_NOT_IN_NAME = re.compile(rb'[\x00-\x1f\x7f()<>@,;:\\\[\]={} \t"]')
_NOT_IN_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
WHOLE = "serving.whole"
"""The extension in a request's scope: the start of a response may carry its whole body."""
_CLOSE = b"connection: close\r\n"
_CHUNKED = b"transfer-encoding: chunked\r\n"
# Responses repeat the same headers over and over, so their lines are cached, unless they are long.
_LINES = 4096
_LONGEST_LINE = 128

log = logging.getLogger("uvicorn.error")


class Exchange:
    """A request whose head has arrived, and the application's response.

    `answered` is called when the response is complete, `streaming` if it turns out to be a stream:
    it has started and is not complete yet.
    """

    __slots__ = (
        "_answered",
        "_chunked",
        "_expects_continue",
        "_flow",
        "_head",
        "_loop",
        "_missing",
        "_news",
        "_streaming",
        "_transport",
        "_waker",
        "body",
        "default_headers",
        "disconnected",
        "keep_alive",
        "more_body",
        "response_complete",
        "response_started",
        "scope",
        "task",
        "tasks",
    )

    def __init__(
        self,
        scope: MutableMapping[str, Any],
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        flow: FlowControl,
        default_headers: Headers,
        *,
        keep_alive: bool,
        expects_continue: bool,
        tasks: "set[asyncio.Task[None]]",
        answered: Callable[[], None],
        streaming: Callable[[], None],
    ) -> None:
        self.scope = scope
        self.default_headers = default_headers
        self.keep_alive = keep_alive
        # The task that runs it, which is among these until the end: the server waits for them.
        self.tasks = tasks
        self.task: asyncio.Task[None] | None = None
        self.body = b""
        self.more_body = True
        self.disconnected = False
        self.response_started = False
        self.response_complete = False
        self._transport = transport
        self._loop = loop
        self._flow = flow
        self._expects_continue = expects_continue
        self._answered = answered
        self._streaming = streaming
        self._head = b""
        self._chunked = False
        # How much of the body is still to come; None: as much as there is.
        self._missing: int | None = 0
        self._news = False
        self._waker: asyncio.Event | None = None

    def wake(self) -> None:
        """Let `receive` return: there is more body, or its end, or the exchange is over."""
        self._news = True
        if self._waker is not None:
            self._waker.set()

    def abandon(self) -> None:
        """The handler gets no more of the body, and what it sends is discarded."""
        self.disconnected = True
        self.wake()

    async def run(self, app: ASGIApp) -> None:
        """Have the application answer; an incomplete response ends the connection."""
        try:
            try:
                await app(self.scope, self.receive, self.send)
            except CutShort:
                pass
            except BaseException as error:
                log.error("Exception in ASGI application\n", exc_info=error)
            else:
                if not self.response_complete and not self.disconnected:
                    log.error("the application has not finished its response")
            if not self.response_complete:
                await self._give_up()
        finally:
            if self.task is not None:
                self.tasks.discard(self.task)

    async def _give_up(self) -> None:
        """End what the application has not."""
        if self.disconnected:
            # A client that has closed its side only ends the connection when we do.
            self._transport.close()
        elif self.response_started:
            self._write(b"")
            self._transport.close()
        else:
            await self._fail()

    async def receive(self) -> Message:
        if self._expects_continue and not self.disconnected and not self._transport.is_closing():
            self._expects_continue = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self.disconnected and not self.response_complete:
            if self._flow.read_paused:
                self._flow.resume_reading()
            if not self._news:
                if self._waker is None:
                    self._waker = asyncio.Event()
                self._waker.clear()
                await self._waker.wait()
            self._news = False
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = self.body, b""
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if self._flow.write_paused and not self.disconnected:
            await self._flow.drain()
        if self.disconnected:
            return
        expected = "http.response.body" if self.response_started else "http.response.start"
        if message["type"] != expected or self.response_complete:
            raise RuntimeError(f"the response cannot go on with {message['type']}")
        if self.response_started:
            self._go_on(message.get("body", b""), more=message.get("more_body", False))
        else:
            self._begin(message["status"], message.get("headers", ()))
            body = message.get("body")
            if body is not None:
                self._go_on(body, more=False)
            else:
                # If the response is complete by then, this does nothing.
                self._loop.call_soon(self._look)

    def _begin(self, status: int, headers: Headers) -> None:
        lines = [_status_line(status)]
        length: int | None = None
        chunked = closes = False
        for name, value in (*self.default_headers, *headers):
            remembered = len(value) <= _LONGEST_LINE
            line, meaning = (_line if remembered else _line.__wrapped__)(name, value)
            lines.append(line)
            if meaning is None:
                continue
            if meaning is _CHUNKED:
                chunked = True
            elif meaning is _CLOSE:
                closes = True
            elif length is None and not chunked:
                length = int(meaning)
        if closes:
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(_CLOSE)
        if chunked:
            self._missing = None
        elif length is None and self.scope["method"] != "HEAD" and status not in (204, 304):
            # A client of HTTP/1.0 knows no chunks: for it, the end of the connection ends the body.
            chunked = self.scope["http_version"] != "1.0"
            self._missing = None
            if chunked:
                lines.append(_CHUNKED)
        else:
            # Of a 304, the length is that of a body that is not sent.
            self._missing = 0 if length is None or status == 304 else length
        lines.append(b"\r\n")
        self._chunked = chunked
        self._expects_continue = False
        self.response_started = True
        self._head = b"".join(lines)

    def _go_on(self, body: bytes, *, more: bool) -> None:
        if self.scope["method"] == "HEAD":
            self._missing = 0
            self._write(b"")
        elif self._chunked:
            part = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            self._write(part if more else part + b"0\r\n\r\n")
        else:
            if self._missing is not None:
                self._missing -= len(body)
                if self._missing < 0:
                    raise RuntimeError("Response content longer than Content-Length")
            self._write(body)
        if more:
            return
        if self._missing:
            raise RuntimeError("Response content shorter than Content-Length")
        self.response_complete = True
        self.wake()
        if not self.keep_alive and not self.more_body:
            self._transport.close()
        self._answered()

    def _write(self, data: bytes) -> None:
        if self._head:
            data = self._head + data
            self._head = b""
        if data:
            self._transport.write(data)

    def _look(self) -> None:
        if not self.response_complete and not self._transport.is_closing():
            self._write(b"")
            self._streaming()

    async def _fail(self) -> None:
        """Answer 500 to a request that the application has not answered."""
        body = b"Internal Server Error"
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        await self.send({"type": "http.response.start", "status": 500, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


@lru_cache
def _status_line(status: int) -> bytes:
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


@lru_cache(_LINES)
def _line(name: bytes, value: bytes) -> tuple[bytes, bytes | None]:
    """A header as it is sent, and what it means for the body or the connection, if anything."""
    if _NOT_IN_NAME.search(name) or _NOT_IN_VALUE.search(value):
        raise RuntimeError("Invalid HTTP header.")
    name = name.lower()
    meaning = None
    if name == b"content-length":
        meaning = value
    elif name == b"transfer-encoding" and value.lower() == b"chunked":
        meaning = _CHUNKED
    elif name == b"connection" and b"close" in [it.strip() for it in value.lower().split(b",")]:
        meaning = _CLOSE
    return b"%b: %b\r\n" % (name, value), meaning
