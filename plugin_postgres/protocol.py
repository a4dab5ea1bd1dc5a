"""HTTP as uvicorn speaks it, but for two things.

A request that cannot be parsed gets the Error envelope; uvicorn would answer plain text. And a
connection that is idle when the plugin stops is not cut off at once: a request may be on its way.
"""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from contract import BadRequest
from plugin_postgres.rows import encode

# How long after the order to stop a request may still arrive on a connection that was idle.
_LINGER_SECONDS = 0.5


class EnvelopeProtocol(HttpToolsProtocol):
    """uvicorn's fast HTTP/1.1 with our answer to a request that is none, and a polite end."""

    _stopping = False

    def send_400_response(self, msg: str) -> None:
        """Answer 400 and close: what follows in the connection cannot be understood."""
        body = encode(BadRequest(f"request: {msg}").envelope())
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\n"
            b"content-type: application/json\r\n"
            b"connection: close\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(body), body)
        )
        self.transport.close()

    def shutdown(self) -> None:
        """Answer the request that is under way, or on its way, and then close."""
        self._stopping = True
        if self._is_idle():
            self.loop.call_later(_LINGER_SECONDS, self._close_if_idle)
        else:
            self.cycle.keep_alive = False

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self._stopping:
            self.cycle.keep_alive = False

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _close_if_idle(self) -> None:
        if self._is_idle():
            self.transport.close()
