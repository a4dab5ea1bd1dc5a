"""A lean HTTP/1.1 client of one upstream: bytes go out as they came in, and come back so.

A general client decodes, follows, pools and counts; between two sockets all of that costs more
than the work. Here a connection is taken from a stack, an answer is passed on in the pieces in
which it arrives, and leaving a response early closes its connection.

    UpstreamError
    ├── Unreachable     no connection, or none that lasted until an answer began
    ├── Silent          no answer, or no next piece of it, in time
    └── BrokenOff       the connection ended in the middle of an answer
"""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from typing import cast
from urllib.parse import urlsplit

import httptools

Headers = list[tuple[bytes, bytes]]

# Idle for longer, and a server with the usual 5 s may be about to close it.
_IDLE_SECONDS = 3.0
_HIGH_WATER = 256 * 1024
_NO_BODY = frozenset({204, 304})


class UpstreamError(Exception):
    """The root of what can go wrong with the upstream."""


class Unreachable(UpstreamError):
    """No connection, or it ended before an answer began."""


class Silent(UpstreamError):
    """Nothing came in time."""


class BrokenOff(UpstreamError):
    """The connection ended in the middle of an answer."""


class Upstream:
    """As many connections as there are requests at once; each carries one at a time."""

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
        """Send a request and wait until its answer begins; close the answer when done with it.

        A body that is an iterator is sent as it comes, in chunks unless `headers` has its length.
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
        """Close what is idle."""
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
                # The server closed an idle connection at the moment when it was used again.
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
        """Keep a connection for the next request."""
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
    """An answer under way: its head is there once `wait_for_head` has returned."""

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
        self._complete = False

    async def wait_for_head(self, timeout: float) -> None:  # noqa: ASYNC109 - kept for the body
        """Until status and headers are there."""
        self._timeout = timeout
        while not self._head_done:
            if self._failure is not None:
                raise self._failure
            await self._wait()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body in the pieces in which it came."""
        while True:
            if self._pieces:
                yield self._take()
            elif self._complete:
                return
            elif self._failure is not None:
                raise self._failure
            else:
                await self._wait()

    def close(self) -> None:
        """Give the connection back; one whose answer is not complete is closed."""
        self._connection.finish(complete=self._complete)

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

    # What the connection calls.

    def begin_body(self, status: int, headers: Headers) -> None:
        self.status, self.headers = status, headers
        self._head_done = True

    def add(self, piece: bytes) -> int:
        self._pieces.append(piece)
        self._held += len(piece)
        return self._held

    def complete(self) -> None:
        self._complete = True

    def fail(self, failure: UpstreamError) -> None:
        if not self._complete and self._failure is None:
            self._failure = failure
        self.wake()

    def wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class _Connection(asyncio.Protocol):
    """One connection; the parser calls back with the parts of the answer."""

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
        """Whether another request can be sent on it."""
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
        """Send a body as it arrives, no faster than the upstream reads it."""
        async for piece in body:
            if piece and self._transport is not None and not self._closed:
                self._transport.write(_framed(piece) if in_chunks else piece)
            if self._may_write is not None:
                await self._may_write.wait()
        if in_chunks and self._transport is not None and not self._closed:
            self._transport.write(b"0\r\n\r\n")

    def resume(self) -> None:
        """Read on: what was read has been passed on."""
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()

    def finish(self, *, complete: bool) -> None:
        """The answer is done with."""
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

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:
            self.close()  # nobody asked for this
            return
        self.received = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
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

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._answer is None or status < 200:
            return
        names = {name.lower() for name, _ in self._headers}
        has_body = self._method != b"HEAD" and status not in _NO_BODY
        self._ends_with_connection = has_body and not names & {
            b"content-length",
            b"transfer-encoding",
        }
        self._answer.begin_body(status, self._headers)
        if not has_body:
            # The parser would wait for the body that a GET has.
            self._keeps_alive = self._keeps_alive and self._parser.should_keep_alive()
            self._keeps_alive = self._keeps_alive and self._method != b"HEAD"
            self._answer.complete()

    def on_body(self, body: bytes) -> None:
        answer = self._answer
        if answer is not None and answer.add(body) > _HIGH_WATER and not self._is_paused:
            self._is_paused = True
            if self._transport is not None:
                self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._answer is None:
            return
        if self._parser.get_status_code() < 200:
            self._headers = []  # only an announcement: the answer is still to come
            return
        self._keeps_alive = self._keeps_alive and self._parser.should_keep_alive()
        self._answer.complete()


def _framed(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)
