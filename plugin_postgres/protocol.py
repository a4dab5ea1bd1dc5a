"""HTTP that cannot be parsed gets the Error envelope too; uvicorn would answer plain text."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from contract import BadRequest
from plugin_postgres.rows import encode


class EnvelopeProtocol(HttpToolsProtocol):
    """uvicorn's fast HTTP/1.1 with our answer to a request that is none."""

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
