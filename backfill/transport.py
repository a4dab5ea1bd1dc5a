"""A lean HTTP/1.1 transport to one plugin, for runs that make one request per row.

The usual pool of httpx looks at every connection for each request; with 32 under way that costs
three times what the request does. Here a connection is taken from a stack and put back.
"""

import asyncio
from typing import cast
from urllib.parse import urlsplit

import httptools
import httpx

from contract import Address

# Idle for longer, and a server with the usual 5 s may be about to close it.
_IDLE_SECONDS = 3.0


def lean_transport(url: str) -> httpx.AsyncBaseTransport | None:
    """The transport to a plugin at `http://…` or `unix:/…`; None leaves it to httpx."""
    address = Address.parse(url)
    if address.socket is not None:
        return LeanTransport(path=address.socket)
    parts = urlsplit(address.url)
    if parts.scheme == "http" and parts.hostname:
        return LeanTransport(host=parts.hostname, port=parts.port or 80)
    return None


class LeanTransport(httpx.AsyncBaseTransport):
    """As many connections as there are requests at once; each carries one at a time."""

    def __init__(self, *, host: str = "", port: int = 0, path: str = "") -> None:
        self._host = host
        self._port = port
        self._path = path
        self._idle: list[_Connection] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and wait for its answer; the caller's timeout closes the connection."""
        message = _head(request) + await request.aread()
        connection = self._idle_connection() or await self._connect(request)
        try:
            response = await connection.exchange(message)
        except BaseException as error:
            # Whatever comes on it now belongs to a request that nobody waits for.
            connection.close()
            if isinstance(error, httpx.TransportError):
                error.request = request
            raise
        if connection.reusable:
            self._idle.append(connection)
        else:
            connection.close()
        return response

    async def aclose(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._idle.pop().close()

    def _idle_connection(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and connection.idle_for < _IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _connect(self, request: httpx.Request) -> "_Connection":
        loop = asyncio.get_running_loop()
        try:
            if self._path:
                _, connection = await loop.create_unix_connection(_Connection, self._path)
            else:
                _, connection = await loop.create_connection(_Connection, self._host, self._port)
        except OSError as error:
            raise httpx.ConnectError(str(error), request=request) from error
        return connection


class _Connection(asyncio.Protocol):
    """One connection: a request goes out, the parser calls back with the parts of the answer."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[httpx.Response] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._ends_with_connection = False
        self._used_at = 0.0
        self.reusable = True

    @property
    def idle_for(self) -> float:
        """Seconds since the last answer."""
        return self._loop.time() - self._used_at

    def exchange(self, message: bytes) -> asyncio.Future[httpx.Response]:
        """Send a request; the future is its answer."""
        self._headers, self._body, self._ends_with_connection = [], [], False
        self._parser = httptools.HttpResponseParser(self)
        self._answer = self._loop.create_future()
        if self._transport is None or self._transport.is_closing():
            self._fail("the connection is closed")
        else:
            self._transport.write(message)
        return self._answer

    def close(self) -> None:
        """Drop the connection."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"the answer is not HTTP ({type(error).__name__})")
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable = False
        if self._ends_with_connection and error is None:
            self.on_message_complete()
        self._fail("the connection was closed before the answer was complete")

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        names = {name.lower() for name, _ in self._headers}
        self._ends_with_connection = not names & {b"content-length", b"transfer-encoding"}

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        self.reusable = self.reusable and self._parser.should_keep_alive()
        self._used_at = self._loop.time()
        if self._answer is not None and not self._answer.done():
            stream = httpx.ByteStream(b"".join(self._body))
            status = self._parser.get_status_code()
            self._answer.set_result(httpx.Response(status, headers=self._headers, stream=stream))

    def _fail(self, reason: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(httpx.RemoteProtocolError(reason))


def _head(request: httpx.Request) -> bytes:
    lines = [request.method.encode() + b" " + request.url.raw_path + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in request.headers.raw]
    return b"\r\n".join(lines) + b"\r\n\r\n"
