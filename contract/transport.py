"""HTTP/1.1 to one server, over TCP, TLS or a unix socket: the one transport of all our clients.

A connection is taken from a stack and put back, and carries one request at a time. A client of one
server needs no more; a pool for many servers, such as the one in httpx, looks at every connection
for each request, which costs several times as much as the request.

    TransportError
    ├── NotConnected      nothing is listening, the name is unknown, or the certificate is wrong
    ├── Interrupted       the connection ended before the answer did, or the bytes are not HTTP
    └── Undecodable       the answer has an encoding that was not requested

`AnswerTooLarge` of `contract.http1` is passed on unchanged.
"""

import asyncio
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol, cast
from urllib.parse import quote, urlsplit

from contract.address import Address
from contract.http1 import (
    Answer,
    AnswerReader,
    AnswerTooLarge,
    UndecodableBody,
    UnreadableAnswer,
)

MAX_ANSWER = 64 * 1024 * 1024
MAX_CONNECTIONS = 100
# After that, a server with the usual timeout of 5 s may be about to close the connection: the
# request would fail, and a write without an id cannot be retried.
_IDLE_SECONDS = 3.0
# Characters allowed in a path, including the percent sign of what is already encoded.
_UNREADABLE = (UnreadableAnswer, UndecodableBody, AnswerTooLarge)
_SAFE = "/?:@!$&'()*+,;=%-._~[]"


class TransportError(Exception):
    """There is no answer."""


class NotConnected(TransportError):
    """The server cannot be reached; nothing was sent."""


class Interrupted(TransportError):
    """The request was sent, at least in part, and no complete answer came back."""


class Undecodable(TransportError):
    """The answer is complete but cannot be decoded."""


class Transport(Protocol):
    """Sends a request and returns the answer, whatever its status."""

    async def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        deadline: float | None = None,
        repeatable: bool = False,
    ) -> Answer:
        """The answer; raises `TransportError` or `AnswerTooLarge` when there is none to return.

        At the `deadline`, in the loop's time, it raises `TimeoutError`. One that is `repeatable`
        may be sent twice.
        """

    async def aclose(self) -> None:
        """Close what is open."""


class HttpTransport:
    """Requests to one address, at most `max_connections` at a time; the others wait.

    A cancelled request closes its connection, because an answer may still arrive on it. A request
    that is `repeatable` is sent again if the server closes a connection that was idle before: it
    may have decided to close it before the request arrived.
    """

    def __init__(
        self,
        address: Address,
        *,
        max_answer: int = MAX_ANSWER,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        parts = urlsplit(address.url)
        self._socket = address.socket
        self._host = parts.hostname or "localhost"
        secure = parts.scheme == "https"
        self._port = parts.port or (443 if secure else 80)
        self._tls = ssl.create_default_context() if secure else None
        self._prefix = parts.path.rstrip("/")
        # Only a host name can contain other than ASCII characters, and names are sent as IDNA.
        named = parts.netloc.encode("ascii" if parts.netloc.isascii() else "idna")
        self._fixed = b"\r\nHost: %b\r\n" % (named or b"localhost")
        self._max_answer = max_answer
        self._idle: list[_Connection] = []
        self._slots = asyncio.Semaphore(max_connections)

    async def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        deadline: float | None = None,
        repeatable: bool = False,
    ) -> Answer:
        """Send a request and wait for its answer, whatever its status."""
        message = self._message(method, path, headers, body)
        if self._slots.locked():
            async with asyncio.timeout_at(deadline):
                await self._slots.acquire()
        else:
            await self._slots.acquire()
        try:
            connection = self._idle_connection()
            if connection is not None:
                try:
                    return await self._exchange(connection, message, deadline)
                except Interrupted:
                    if not (repeatable and connection.is_unanswered):
                        raise
            async with asyncio.timeout_at(deadline):
                connection = await self._connect()
            return await self._exchange(connection, message, deadline)
        finally:
            self._slots.release()

    async def aclose(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._idle.pop().close()

    def _message(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> bytes:
        line = f"{method} {_encoded(self._prefix + path)} HTTP/1.1".encode("ascii")
        head = line + self._fixed + _header_block(tuple(headers.items()))
        if body is None and method not in ("POST", "PUT", "PATCH"):
            return head + b"\r\n"
        body = body or b""
        return b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)

    async def _exchange(
        self, connection: "_Connection", message: bytes, deadline: float | None
    ) -> Answer:
        try:
            answer = await connection.exchange(message, self._max_answer, deadline)
        except BaseException:
            connection.close()
            raise
        if connection.reusable:
            self._idle.append(connection)
        else:
            connection.close()
        return answer

    def _idle_connection(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and connection.idle_for < _IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _connect(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        try:
            if self._socket is not None:
                _, connection = await loop.create_unix_connection(_Connection, self._socket)
            else:
                _, connection = await loop.create_connection(
                    _Connection, self._host, self._port, ssl=self._tls
                )
        except (OSError, UnicodeError) as error:  # the latter for a name such as a..b
            raise NotConnected(f"{type(error).__name__}: {error}") from None
        return connection


class _Connection(asyncio.Protocol):
    """One connection: sends a request and feeds the bytes of its answer to the reader."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._reader: AnswerReader | None = None
        self._used_at = 0.0
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self.reusable = True
        self.is_unanswered = True  # whether not a single byte of the last answer has arrived

    @property
    def idle_for(self) -> float:
        """Seconds since the last answer."""
        return self._loop.time() - self._used_at

    def exchange(
        self, message: bytes, max_answer: int, deadline: float | None
    ) -> asyncio.Future[Answer]:
        """Send a request; the future is its answer, or `TimeoutError` at the deadline."""
        self._reader = AnswerReader(max_answer)
        self.is_unanswered = True
        self._answer = self._loop.create_future()
        if self._transport is None or self._transport.is_closing():
            self._fail(Interrupted("the connection is closed"))
        else:
            self._transport.write(message)
            self._watch(deadline)
        return self._answer

    def close(self) -> None:
        """Drop the connection."""
        self.reusable = False
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.is_unanswered = False
        reader = self._reader
        if reader is None:
            # An unsolicited response: it is unclear which request the next bytes answer.
            self.close()
            return
        try:
            answer = reader.feed(data)
        except _UNREADABLE as error:
            self._refuse(error)
        else:
            if answer is not None:
                self._succeed(answer, reader.keeps_connection)

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable = False
        reader = self._reader
        if reader is not None and error is None:
            try:
                answer = reader.finish()
            except _UNREADABLE as refusal:
                self._refuse(refusal)
                return
            if answer is not None:
                self._succeed(answer, keeps_connection=False)
        self._fail(Interrupted("the connection was closed before the answer was complete"))

    def _succeed(self, answer: Answer, keeps_connection: bool) -> None:
        self._reader = None
        self.reusable = self.reusable and keeps_connection
        self._used_at = self._loop.time()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def _refuse(self, error: Exception) -> None:
        if isinstance(error, UnreadableAnswer):
            error = Interrupted(str(error))
        elif isinstance(error, UndecodableBody):
            error = Undecodable(str(error))
        self._fail(error)
        self.close()

    def _watch(self, deadline: float | None) -> None:
        # One timer for many requests: asyncio.timeout for each costs more than to parse its answer.
        self._deadline = deadline
        if deadline is None or (self._timer is not None and self._timer_at <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, self._look_at_deadline)

    def _look_at_deadline(self) -> None:
        self._timer = None
        if self._reader is None or self._deadline is None:
            return  # nothing is awaited
        if self._loop.time() < self._deadline:
            self._watch(self._deadline)
        else:
            self._fail(TimeoutError())

    def _fail(self, error: Exception) -> None:
        self._reader = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


@lru_cache(maxsize=256)
def _header_block(headers: tuple[tuple[str, str], ...]) -> bytes:
    """The header lines; cached, because a client keeps sending the same few."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
        raise ValueError("a header must not contain a line break")
    return lines.encode("latin-1")


@lru_cache(maxsize=1024)
def _encoded(path: str) -> str:
    """The path, with percent-encoding for all characters that a request line does not allow."""
    return quote(path, safe=_SAFE)
