"""HTTP as uvicorn implements it, with better handling of connections that end.

- A request that cannot be parsed gets the service's error envelope; uvicorn would answer plain
  text.
- Requests that came whole are answered, also when garbage follows them, when the client has
  closed its sending side, or when the server stops.
- A client that closes while it is sent a stream is gone: whoever makes the stream is told at once.
- A connection that is idle when the server stops is not cut off at once: a request may be on its
  way. And one that has been idle for too long is closed in two steps, so that a client that sends
  in that very moment sees an end and not a reset.
"""

import asyncio
import select
from collections import deque
from collections.abc import Callable
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

# How long after the order to stop a request may still arrive on a connection that was idle.
_LINGER_SECONDS = 0.5
# How long a client has to notice that an idle connection is closed.
_CLOSE_SECONDS = 2.0
# It tells the client to send the body, and must not wait for one.
_CONTINUE = b"HTTP/1.1 100 "

BadRequestBody = Callable[[str], bytes]
"""The body of the answer to a request that cannot be parsed, from a sentence."""


def bad_request(message: str) -> bytes:
    """The envelope of services that have none of their own."""
    return orjson.dumps({"code": "bad_request", "message": message})


class Protocol(HttpToolsProtocol):
    """uvicorn's fast HTTP/1.1 with our answer to what is not a request, and a polite end."""

    _stopping = False
    _half_closed = False
    _closing = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unanswered: deque[RequestResponseCycle] = deque()

    def data_received(self, data: bytes) -> None:
        if not self._closing:  # else there is no way left to answer it
            super().data_received(data)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.cycle.transport = _Joined(self.transport, self.loop, self._stream_began)
        self._unanswered.append(self.cycle)
        if self._stopping:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        answered = self._unanswered.popleft().transport
        if isinstance(answered, _Joined):
            answered.flush()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer 400 and close: what follows in the connection cannot be understood."""
        if self._closes_after_answers():
            return
        body = getattr(self.config, "bad_request", bad_request)(f"request: {msg}")
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\n"
            b"content-type: application/json\r\n"
            b"connection: close\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(body), body)
        )
        self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more, but may still be listening, unless it is sent a stream."""
        self._half_closed = True
        if self._unanswered and self._unanswered[0].response_started:
            for cycle in self._unanswered:
                abandon(cycle)
            return False
        return self._closes_after_answers()

    def connection_lost(self, exc: Exception | None) -> None:
        for cycle in self._unanswered:
            abandon(cycle)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Answer the requests that are under way, or on their way, and then close."""
        self._stopping = True
        if self._unanswered:
            self._unanswered[-1].keep_alive = False
        else:
            # The other half is for the answers.
            half = (self.config.timeout_graceful_shutdown or 0) / 2
            self._linger(self.loop.time() + half)

    def timeout_keep_alive_handler(self) -> None:
        """Say that no more requests are taken; the client closes, or is closed a little later."""
        if self.transport.is_closing() or self._closing:
            return
        self._closing = True
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self.loop.call_later(_CLOSE_SECONDS, self.transport.close)
        else:
            self.transport.close()

    def _stream_began(self) -> None:
        """A response has started and is not complete: a client that has closed does not read it."""
        if self._half_closed:
            for cycle in self._unanswered:
                abandon(cycle)
            self.transport.close()

    def _closes_after_answers(self) -> bool:
        """Close after the last complete request; False if there is none to wait for."""
        whole = [cycle for cycle in self._unanswered if not cycle.more_body]
        for cycle in self._unanswered:
            if cycle.more_body:
                abandon(cycle)
        if whole:
            whole[-1].keep_alive = False
        return bool(whole)

    def _linger(self, until: float) -> None:
        """Close when no client of this worker has asked for anything for a while.

        That one connection is idle says little: on a busy machine its client waits for its turn.
        """
        answered = self.server_state.total_requests
        self.loop.call_later(_LINGER_SECONDS, self._close_if_quiet, answered, until)

    def _close_if_quiet(self, answered: int, until: float) -> None:
        if self._unanswered or self.transport.is_closing():
            return
        is_quiet = self.server_state.total_requests == answered or self.loop.time() > until
        # The time may be up before the event loop has read what came in it.
        if is_quiet and not _has_arrived(self.transport):
            self.transport.close()
        else:
            self._linger(until)


class _Joined(asyncio.Transport):
    """A transport that sends the head of an answer and the first part of its body together.

    uvicorn writes them one by one, and each write wakes the client: a fifth of what a small
    answer costs. A head whose body is not there yet goes alone, and later parts at once.
    """

    __slots__ = ("_head", "_loop", "_passing", "_stream_began", "_transport")

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        stream_began: Callable[[], None],
    ) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._stream_began = stream_began
        self._head = b""
        self._passing = False

    def write(self, data: Any) -> None:
        if self._passing:
            self._transport.write(data)
        elif self._head:
            self._passing = True
            self._transport.write(self._head + data)
            self._head = b""
        elif data.startswith(_CONTINUE):
            self._transport.write(data)
        else:
            self._head = data
            # What is complete by then costs nothing more than this look.
            self._loop.call_soon(self._look)

    def flush(self) -> None:
        """Send a head that no body followed. The answer is complete."""
        if self._head:
            self.write(b"")
        self._stream_began = _nothing

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def _look(self) -> None:
        if self._head:
            self.write(b"")
        self._stream_began()


def _has_arrived(transport: asyncio.Transport) -> bool:
    """Whether the system has something that the event loop has not read yet."""
    look = select.poll()
    look.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(look.poll(0))


def _nothing() -> None:
    """Where an answer was complete at once."""


def abandon(cycle: RequestResponseCycle) -> None:
    """Its handler gets no more of the body, and what it says goes nowhere."""
    cycle.disconnected = True
    cycle.message_event.set()
