"""HTTP as uvicorn implements it, with better handling of connections that end.

- A request that cannot be parsed gets the service's error envelope; uvicorn would answer plain
  text.
- A request that asks for another protocol (Java's client offers HTTP/2) is answered as if it had
  not asked; uvicorn would lose its body and take it for the next request.
- Headers have a limit, as bodies do; in uvicorn, they can fill the memory.
- Trailers are ignored; uvicorn would take them for headers.
- Requests that came whole are answered, also when garbage follows them, when the client has
  closed its sending side, or when the server stops.
- A client that closes while it is sent a stream is gone: whoever makes the stream is told at once.
- A client that is answered before it has sent its whole body sees the answer and not a reset: what
  it still sends is discarded for a while.
- A connection that is idle when the server stops is not cut off at once: a request may be on its
  way. And one that has been idle for too long is closed in two steps, so that a client that sends
  in that very moment sees an end and not a reset.
"""

import asyncio
import select
from collections import deque
from collections.abc import Callable, Sized
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import httptools
import orjson
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from serving.exchange import WHOLE, Exchange

# How long after the order to stop a request may still arrive on a connection that was idle: at
# least this many seconds, or this share of the shutdown timeout. A client that stalls for longer
# sends its request into a closed connection.
_LINGER_SECONDS = 0.5
_LINGER_SHARE = 0.05
# How long a client has to notice that an idle connection is closed.
_CLOSE_SECONDS = 2.0
# How long a client that was refused may go on sending its body, which nobody reads.
_DISCARD_SECONDS = 10.0
# How many bytes in a row may belong to no body, and to no head that is complete.
_MOST_UNUSED = 64 * 1024
_TOO_LARGE = "The headers are too large."
# While this many requests of a connection are unanswered, no more are read from it.
_MOST_UNANSWERED = 100
# Clients use the same URLs over and over, so the parts of this many are cached.
_URLS = 4096
_LONGEST_URL = 1024
_EXTENSIONS: dict[str, dict[object, object]] = {WHOLE: {}}

BadRequestBody = Callable[[str], bytes]
"""The body of the answer to a request that cannot be parsed, from a sentence."""


def bad_request(message: str) -> bytes:
    """The envelope of services that have none of their own."""
    return orjson.dumps({"code": "bad_request", "message": message})


class Protocol(HttpToolsProtocol):
    """uvicorn's fast HTTP/1.1 with our answer to what is not a request, and a polite end."""

    cycle: Exchange | None  # type: ignore[assignment]
    _stopping = False
    _half_closed = False
    _closing = False
    _unused = 0
    # When the last response was complete; None while one is awaited.
    _idle_since: float | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unanswered: deque[Exchange] = deque()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport, self._unanswered)

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return  # there is no way left to answer it
        self._unused += len(data)
        try:
            self._parse(data)
        except httptools.HttpParserError:
            is_long = self._unused > _MOST_UNUSED
            self._refuse(_TOO_LARGE if is_long else "Invalid HTTP request received.")
        else:
            if self._unused > _MOST_UNUSED:
                self._refuse(_TOO_LARGE)
                self._closing = True

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = _EXTENSIONS
        # Not for the rest of a body whose request was answered early: nothing would follow that.
        self._idle_since = None

    def on_headers_complete(self) -> None:
        # A body may have come with it, so only a head that may be too large is measured.
        if self._unused > _MOST_UNUSED and self._head_size() > _MOST_UNUSED:
            raise httptools.HttpParserError(_TOO_LARGE)
        self._unused = 0
        if self.parser.should_upgrade():
            # The parser skips its body, so it is parsed again without that wish.
            self.cycle = None
            return
        version = self.parser.get_http_version()
        scope: Any = self.scope
        scope["method"] = self.parser.get_method().decode("ascii")
        if version != "1.1":
            scope["http_version"] = version
        parts = (_parts if len(self.url) <= _LONGEST_URL else _parts.__wrapped__)(self.url)
        scope["path"], scope["raw_path"], scope["query_string"] = parts
        self.cycle = Exchange(
            scope,
            self.transport,
            self.loop,
            self.flow,
            self.server_state.default_headers,
            keep_alive=not self._stopping and version != "1.0" and self.parser.should_keep_alive(),
            # A client of HTTP/1.0 would take it for the answer.
            expects_continue=self.expect_100_continue and version != "1.0",
            tasks=self.tasks,
            answered=self.on_response_complete,
            streaming=self._stream_began,
        )
        # What the parser still reports are trailers, which must not be taken for headers.
        self.headers = []
        self._unanswered.append(self.cycle)
        if len(self._unanswered) == 1:
            self._start(self.cycle)
        else:
            # It arrived before the previous one was answered, and has to wait for that.
            self.flow.pause_reading()

    def on_body(self, body: bytes) -> None:
        self._unused = 0
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return
        cycle.body = cycle.body + body if cycle.body else body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.wake()

    def on_message_complete(self) -> None:
        self._unused = 0
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.more_body = False
            cycle.wake()

    def on_response_complete(self) -> None:
        answered = self._unanswered.popleft()
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if not answered.keep_alive:
            # The rest of its body is still to come, else the connection would be closed already.
            self._close_in_two_steps(_DISCARD_SECONDS)
            return
        if self._unanswered:
            self._start(self._unanswered[0])
            return
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._await_next(self.timeout_keep_alive)

    def send_400_response(self, msg: str) -> None:
        """Answer 400 and close: what follows in the connection cannot be understood."""
        if self._closes_after_answers():
            return
        if self._unanswered and self._unanswered[0].response_started:
            self.transport.close()  # a second response would look like the rest of the first
            return
        body = getattr(self.config, "bad_request", bad_request)(f"request: {msg}")
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\n"
            b"content-type: application/json\r\n"
            b"connection: close\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(body), body)
        )
        self._close_in_two_steps(_DISCARD_SECONDS)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more, but may still be listening, unless it is sent a stream."""
        self._half_closed = True
        if self._unanswered and self._unanswered[0].response_started:
            for cycle in self._unanswered:
                cycle.abandon()
            return False
        return self._closes_after_answers()

    def connection_lost(self, exc: Exception | None) -> None:
        for cycle in self._unanswered:
            cycle.abandon()
        self.cycle = None
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()

    def shutdown(self) -> None:
        """Answer the requests that are under way, or on their way, and then close."""
        self._stopping = True
        if self._unanswered:
            self._unanswered[-1].keep_alive = False
        else:
            # The other half is for the answers.
            self._linger(self.loop.time() + self._stop_seconds / 2)

    def timeout_keep_alive_handler(self) -> None:
        """Say that no more requests are taken; the client closes, or is closed a little later."""
        if not self.transport.is_closing() and not self._closing:
            self._close_in_two_steps(_CLOSE_SECONDS)

    def _unset_keepalive_if_required(self) -> None:
        """Data arrived, or the connection is lost."""
        self._idle_since = None

    def _await_next(self, seconds: float) -> None:
        # One timer for many requests: setting and cancelling one for each costs more than checking
        # now and then when the last one was answered.
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self._close_if_idle)

    def _close_if_idle(self) -> None:
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._await_next(left)
        else:
            self.timeout_keep_alive_handler()

    def _refuse(self, message: str) -> None:
        self.logger.warning(message)
        self.send_400_response(message)

    def _parse(self, data: bytes | memoryview) -> None:
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                if self.parser.get_method() == b"CONNECT":
                    raise httptools.HttpParserError("CONNECT is not supported") from None
                self.parser.feed_data(self._plain_head())
                data = memoryview(data)[upgrade.args[0] :]
            else:
                return

    def _plain_head(self) -> bytes:
        """The head of a request that asks for another protocol, without asking for it."""
        request = (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        kept = [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        return b"%b %b HTTP/%b\r\n%b\r\n" % (*request, b"".join(kept))

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _start(self, cycle: Exchange) -> None:
        cycle.task = self.loop.create_task(cycle.run(self.app))
        self.tasks.add(cycle.task)

    def _stream_began(self) -> None:
        """A response has started and is not complete: a client that has closed does not read it."""
        if self._half_closed:
            for cycle in self._unanswered:
                cycle.abandon()
            self.transport.close()

    def _close_in_two_steps(self, seconds: float) -> None:
        self._closing = True
        try:
            self.transport.write_eof()
        except (OSError, NotImplementedError):  # the client is gone, or TLS, which cannot
            self.transport.close()
        else:
            self.loop.call_later(seconds, self.transport.close)

    def _closes_after_answers(self) -> bool:
        """Close after the last complete request; False if there is none to wait for."""
        whole = [cycle for cycle in self._unanswered if not cycle.more_body]
        for cycle in self._unanswered:
            if cycle.more_body:
                cycle.abandon()
        if whole:
            whole[-1].keep_alive = False
        return bool(whole)

    @property
    def _stop_seconds(self) -> float:
        """How long the server may take to stop."""
        return self.config.timeout_graceful_shutdown or 0

    def _linger(self, until: float) -> None:
        """Close when no client of this worker has asked for anything for a while.

        That one connection is idle says little: on a busy machine its client waits for its turn.
        """
        answered = self.server_state.total_requests
        seconds = max(_LINGER_SECONDS, self._stop_seconds * _LINGER_SHARE)
        self.loop.call_later(seconds, self._close_if_quiet, answered, until)

    def _close_if_quiet(self, answered: int, until: float) -> None:
        if self._unanswered or self.transport.is_closing():
            return
        is_quiet = self.server_state.total_requests == answered or self.loop.time() > until
        # The time may be up before the event loop has read what came in it.
        if is_quiet and not _has_arrived(self.transport):
            self.transport.close()
        else:
            self._linger(until)


class _Flow(FlowControl):
    """Starts to read again only if few requests wait; their number would have no bound."""

    def __init__(self, transport: asyncio.Transport, unanswered: Sized) -> None:
        super().__init__(transport)
        self._unanswered = unanswered

    def resume_reading(self) -> None:
        if len(self._unanswered) < _MOST_UNANSWERED:
            super().resume_reading()


def _has_arrived(transport: asyncio.Transport) -> bool:
    """Whether the system has something that the event loop has not read yet."""
    look = select.poll()
    look.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(look.poll(0))


@lru_cache(_URLS)
def _parts(url: bytes) -> tuple[str, bytes, bytes]:
    """The decoded path, the path as it was sent, and the query."""
    parsed = httptools.parse_url(url)
    return unquote(parsed.path.decode("ascii")), parsed.path, parsed.query or b""
