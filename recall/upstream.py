"""A minimal HTTP/1.1 client for one upstream that passes bytes through unchanged.

General clients decode bodies, follow redirects and more, which costs more than the proxying itself.
Here idle connections are kept on a stack, responses are passed on in the chunks in which they
arrive, and abandoning a response closes its connection.

    UpstreamError
    ├── Unreachable     no connection, or it closed before a response started
    ├── Silent          no response, or no next chunk of it, in time
    └── BrokenOff       the connection closed in the middle of a response
"""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from typing import cast
from urllib.parse import urlsplit

import httptools

Headers = list[tuple[bytes, bytes]]

# Servers commonly close idle connections after 5 s.
_IDLE_SECONDS = 3.0
_HIGH_WATER = 256 * 1024
_NO_BODY = frozenset({204, 304})


class UpstreamError(Exception):
    """Base class of upstream errors."""


class Unreachable(UpstreamError):
    """No connection, or it closed before a response started."""


class Silent(UpstreamError):
    """The upstream timed out."""


class BrokenOff(UpstreamError):
    """The connection closed in the middle of a response."""


class Upstream:
    """One connection per concurrent request; idle ones are reused."""

    def __init__(self, base: str, *, connect_timeout: float = 5.0, timeout: float = 600.0) -> None:
        parts = urlsplit(base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the upstream URL must begin with http:// or https:// and a host")
        self._host = parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._connect_timeout = connect_timeout
        self._timeout = timeout
        self._idle: list[_Connection] = []
        self.host_header = parts.netloc.rpartition("@")[2].encode()
        self.path = parts.path.rstrip("/").encode()

    async def send(
        self, method: bytes, target: bytes, headers: Headers, body: "bytes | AsyncIterator[bytes]"
    ) -> "Answer":
        """Send a request and wait for the response headers; the caller closes the response.

        A body that is an iterator is streamed, chunked unless `headers` has its length.
        """
        head = [method + b" " + target + b" HTTP/1.1", b"host: " + self.host_header]
        head += [name + b": " + value for name, value in headers]
        if isinstance(body, bytes):
            return await self._send_whole(method, b"\r\n".join(head) + b"\r\n\r\n" + body)
        in_chunks = not any(name == b"content-length" for name, _ in headers)
        if in_chunks:
            head.append(b"transfer-encoding: chunked")
        connection = await self._connect()
        answer = connection.begin(method, b"\r\n".join(head) + b"\r\n\r\n")
        try:
            await connection.pour(body, in_chunks=in_chunks)
            await answer.wait_for_head(self._timeout)
        except BaseException:
            answer.close()
            raise
        return answer

    async def aclose(self) -> None:
        """Close idle connections."""
        while self._idle:
            self._idle.pop().close()

    async def _send_whole(self, method: bytes, message: bytes) -> "Answer":
        while True:
            used = self._take()
            connection = used or await self._connect()
            answer = connection.begin(method, message)
            try:
                await answer.wait_for_head(self._timeout)
            except Unreachable:
                answer.close()
                # The server closed the idle connection just as it was reused.
                if used is None or connection.received:
                    raise
            except BaseException:
                answer.close()
                raise
            else:
                return answer

    def _take(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            connection.close()
        return None

    def put_back(self, connection: "_Connection") -> None:
        """Keep a connection for reuse."""
        self._idle.append(connection)

    async def _connect(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_timeout):
                _, connection = await loop.create_connection(
                    lambda: _Connection(self), self._host, self._port, ssl=self._tls
                )
        except TimeoutError:
            raise Unreachable("the upstream did not accept the connection in time") from None
        except (OSError, ssl.SSLError) as error:
            raise Unreachable(f"the upstream cannot be reached ({type(error).__name__})") from None
        return connection


class Answer:
    """A response in progress; its status and headers are set after `wait_for_head`."""

    def __init__(self, connection: "_Connection") -> None:
        self.status = 0
        self.headers: Headers = []
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._pieces: deque[bytes] = deque()
        self._held = 0
        self._timeout = 0.0
        self._waiting: asyncio.Future[None] | None = None
        self._failure: UpstreamError | None = None
        self._head_done = False
        self.is_complete = False

    async def wait_for_head(self, timeout: float) -> None:  # noqa: ASYNC109 - kept for the body
        """Wait for status and headers."""
        self._timeout = timeout
        while not self._head_done:
            if self._failure is not None:
                raise self._failure
            await self._wait()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body in the chunks in which it arrives."""
        while True:
            if self._pieces:
                yield self._take()
            elif self.is_complete:
                return
            elif self._failure is not None:
                raise self._failure
            else:
                await self._wait()

    def close(self) -> None:
        """Release the connection, or close it if the response is incomplete."""
        self._connection.finish(complete=self.is_complete)

    def _take(self) -> bytes:
        piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._held = 0
        self._connection.resume()
        return piece

    async def _wait(self) -> None:
        self._waiting = self._loop.create_future()
        timer = self._loop.call_later(self._timeout, self.fail, Silent("the upstream is silent"))
        try:
            await self._waiting
        finally:
            timer.cancel()
            self._waiting = None

    # Called by the connection.

    def begin_body(self, status: int, headers: Headers) -> None:
        self.status, self.headers = status, headers
        self._head_done = True

    def add(self, piece: bytes) -> int:
        self._pieces.append(piece)
        self._held += len(piece)
        return self._held

    def complete(self) -> None:
        self.is_complete = True

    def fail(self, failure: UpstreamError) -> None:
        if not self.is_complete and self._failure is None:
            self._failure = failure
        self.wake()

    def wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class _Connection(asyncio.Protocol):
    """One connection, which is also the callback object of the parser."""

    def __init__(self, home: Upstream) -> None:
        self._home = home
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer: Answer | None = None
        self._headers: Headers = []
        self._method = b""
        self._ends_with_connection = False
        self._keeps_alive = True
        self._is_paused = False
        self._may_write: asyncio.Event | None = None
        self._used_at = 0.0
        self._closed = False
        self.received = False

    @property
    def is_usable(self) -> bool:
        """Whether it can be reused for another request."""
        return not self._closed and self._loop.time() - self._used_at < _IDLE_SECONDS

    def begin(self, method: bytes, message: bytes) -> Answer:
        """Send a request, or the head of one."""
        self._method, self._headers = method, []
        self._ends_with_connection, self._keeps_alive, self.received = False, True, False
        self._parser = httptools.HttpResponseParser(self)
        self._answer = answer = Answer(self)
        if self._transport is None or self._closed:
            answer.fail(Unreachable("the connection is closed"))
        else:
            self._transport.write(message)
        return answer

    async def pour(self, body: AsyncIterator[bytes], *, in_chunks: bool) -> None:
        """Stream a body, no faster than the upstream reads it."""
        async for piece in body:
            if piece and self._transport is not None and not self._closed:
                self._transport.write(_framed(piece) if in_chunks else piece)
            if self._may_write is not None:
                await self._may_write.wait()
        if in_chunks and self._transport is not None and not self._closed:
            self._transport.write(b"0\r\n\r\n")

    def resume(self) -> None:
        """Resume reading, after the data was passed on."""
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()

    def finish(self, *, complete: bool) -> None:
        """Detach the finished response."""
        self._answer = None
        if complete and self._keeps_alive and not self._closed:
            self._used_at = self._loop.time()
            self.resume()
            self._home.put_back(self)
        else:
            self.close()

    def close(self) -> None:
        """Drop the connection."""
        self._closed = True
        if self._transport is not None:
            self._transport.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:
            self.close()  # unsolicited data
            return
        self.received = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            answer.fail(BrokenOff("the answer is not HTTP"))
            self.close()
        answer.wake()

    def eof_received(self) -> None:
        self._closed = True

    def connection_lost(self, error: Exception | None) -> None:
        self._closed = True
        if self._may_write is not None:
            self._may_write.set()
        answer = self._answer
        if answer is None:
            return
        if self._ends_with_connection and error is None:
            answer.complete()
        elif self.received:
            answer.fail(BrokenOff("the upstream ended the response early"))
        else:
            answer.fail(Unreachable("the upstream closed the connection without an answer"))
        answer.wake()

    def pause_writing(self) -> None:
        self._may_write = asyncio.Event()

    def resume_writing(self) -> None:
        if self._may_write is not None:
            self._may_write.set()
            self._may_write = None

    # Called by the parser.

    def on_message_begin(self) -> None:
        if self._answer is not None and self._answer.is_complete:
            self._keeps_alive = False  # nobody has asked for another response

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._answer is None or self._answer.is_complete or status < 200:
            return
        names = {name.lower() for name, _ in self._headers}
        has_body = self._method != b"HEAD" and status not in _NO_BODY
        self._ends_with_connection = has_body and not names & {
            b"content-length",
            b"transfer-encoding",
        }
        self._answer.begin_body(status, self._headers)
        self._headers = []  # what follows are trailers
        if not has_body:
            # The parser would wait for a body, as for a GET.
            self._keeps_alive = self._keeps_alive and self._parser.should_keep_alive()
            self._keeps_alive = self._keeps_alive and self._method != b"HEAD"
            self._answer.complete()

    def on_body(self, body: bytes) -> None:
        answer = self._answer
        if answer is None or answer.is_complete:
            return
        if answer.add(body) > _HIGH_WATER and not self._is_paused:
            self._is_paused = True
            if self._transport is not None:
                self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._answer is None:
            return
        if self._parser.get_status_code() < 200:
            self._headers = []  # informational: the final response follows
            return
        self._keeps_alive = self._keeps_alive and self._parser.should_keep_alive()
        self._answer.complete()


def _framed(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)
