"""HTTP as uvicorn speaks it, with better manners where a connection ends.

- A request that cannot be parsed gets the Error envelope; uvicorn would answer plain text.
- Requests that came whole are answered, also when garbage follows them, when the client has
  closed its sending side, or when the plugin stops.
- A connection that is idle when the plugin stops is not cut off at once: a request may be on its
  way.
"""

import asyncio
from collections import deque
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from contract import BadRequest
from plugin_postgres.rows import encode

# How long after the order to stop a request may still arrive on a connection that was idle.
_LINGER_SECONDS = 0.5
# It tells the client to send the body, and must not wait for one.
_CONTINUE = b"HTTP/1.1 100 "


class EnvelopeProtocol(HttpToolsProtocol):
    """uvicorn's fast HTTP/1.1 with our answer to a request that is none, and a polite end."""

    _stopping = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unanswered: deque[RequestResponseCycle] = deque()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.cycle.transport = _Joined(self.transport)
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
        body = encode(BadRequest(f"request: {msg}").envelope())
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\n"
            b"content-type: application/json\r\n"
            b"connection: close\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(body), body)
        )
        self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more, but may still be listening."""
        return self._closes_after_answers()

    def connection_lost(self, exc: Exception | None) -> None:
        for cycle in self._unanswered:
            _abandon(cycle)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Answer the requests that are under way, or on their way, and then close."""
        self._stopping = True
        if self._unanswered:
            self._unanswered[-1].keep_alive = False
        else:
            self.loop.call_later(_LINGER_SECONDS, self._close_if_idle)

    def _closes_after_answers(self) -> bool:
        """Close after the last request that came whole; False when there is none to wait for."""
        whole = [cycle for cycle in self._unanswered if not cycle.more_body]
        for cycle in self._unanswered:
            if cycle.more_body:
                _abandon(cycle)
        if whole:
            whole[-1].keep_alive = False
        return bool(whole)

    def _close_if_idle(self) -> None:
        if not self._unanswered:
            self.transport.close()


class _Joined(asyncio.Transport):
    """A transport that sends the head of an answer and its body together.

    uvicorn writes them one by one, and each write wakes the client: a fifth of what a small
    answer costs.
    """

    __slots__ = ("_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._head = b""

    def write(self, data: Any) -> None:
        if self._head:
            self._transport.write(self._head + data)
            self._head = b""
        elif data.startswith(_CONTINUE):
            self._transport.write(data)
        else:
            self._head = data

    def flush(self) -> None:
        """Send a head that no body followed."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()


def _abandon(cycle: RequestResponseCycle) -> None:
    """Its handler gets no more of the body, and what it says goes nowhere."""
    cycle.disconnected = True
    cycle.message_event.set()
