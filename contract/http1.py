"""Parsing an HTTP/1.1 response from the bytes of a connection.

    reader = AnswerReader(max_body=1_000_000)
    answer = reader.feed(data)       # None until the answer is complete

In plain Python, so that this package needs no compiled parser: the usual answer, a head and a body
of known length, arrives in one piece and takes a handful of string searches. The head is parsed
only when a header is read.
"""

import zlib
from dataclasses import dataclass
from functools import cached_property

_MAX_HEAD = 64 * 1024
_MAX_CHUNK_LINE = 1024
_WITHOUT_BODY = (204, 304)


class UnreadableAnswer(Exception):
    """The bytes are not an HTTP/1.1 response."""


class UndecodableBody(Exception):
    """The body has an encoding that was not requested, or is not encoded as the header says."""


class AnswerTooLarge(Exception):
    """The body is larger than the reader accepts; `status` is that of the answer."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """A status, the unparsed head, and the body."""

    status: int
    head: bytes
    body: bytes

    @cached_property
    def headers(self) -> dict[str, str]:
        """The headers by lower-case name; repeated ones are joined with commas."""
        found: dict[str, str] = {}
        for line in self.head.decode("latin-1").split("\r\n")[1:]:
            name, _, value = line.partition(":")
            name, value = name.strip().lower(), value.strip()
            found[name] = f"{found[name]}, {value}" if name in found else value
        return found


class AnswerReader:
    """Reads one answer; `keeps_connection` says whether another may follow on the connection."""

    __slots__ = (
        "_body",
        "_buffer",
        "_head",
        "_length",
        "_lower",
        "_max_body",
        "_status",
        "_to_end",
        "_where",
    )

    def __init__(self, max_body: int) -> None:
        self._max_body = max_body
        self._buffer = b""
        self._head = b""
        self._lower = b""  # the head in lower case
        self._status = 0
        self._where = "head"
        self._length = 0  # of the body, or what is missing of the current chunk
        self._body = bytearray()
        self._to_end = False

    @property
    def keeps_connection(self) -> bool:
        """Whether the connection can carry another request once the answer is complete."""
        if self._to_end or self._buffer:
            # Bytes after the response belong to no request.
            return False
        connection = _header(self._lower, b"connection")
        if self._lower.startswith(b"http/1.0"):
            return connection is not None and b"keep-alive" in connection
        return connection is None or b"close" not in connection

    def feed(self, data: bytes) -> Answer | None:
        """Add the next bytes; returns the answer as soon as it is complete."""
        self._buffer = self._buffer + data if self._buffer else data
        while self._where == "head":
            if not self._read_head():
                return None
        if self._where == "chunks":
            return self._read_chunks()
        if self._where == "rest":
            self._add(self._buffer)
            self._buffer = b""
            return None
        return self._read_sized()

    def finish(self) -> Answer | None:
        """The connection was closed: return the answer if it ends there, else None."""
        return self._answer(bytes(self._body)) if self._where == "rest" else None

    def _read_head(self) -> bool:
        """Whether the head is complete; one with status 1xx is skipped."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_HEAD or not _may_be_http(self._buffer):
                raise UnreadableAnswer("the response is not HTTP")
            return False
        head = self._buffer[:end]
        self._buffer = self._buffer[end + 4 :]
        self._status = _status(head)
        if 100 <= self._status < 200:
            return bool(self._buffer) and self._read_head()
        self._head, self._lower = head, head.lower()
        self._plan()
        return True

    def _plan(self) -> None:
        """Where the body ends: at a length, after the last chunk, or with the connection."""
        if self._status in _WITHOUT_BODY:
            self._where = "sized"
            return
        encoding = _header(self._lower, b"transfer-encoding")
        if encoding is not None:
            if encoding != b"chunked":
                raise UnreadableAnswer("the response has an unsupported transfer encoding")
            self._where = "chunks"
            return
        length = _header(self._lower, b"content-length")
        if length is None:
            self._where, self._to_end = "rest", True
            return
        if not length.isdigit():
            raise UnreadableAnswer("the response has a Content-Length that is not a number")
        self._where, self._length = "sized", int(length)
        if self._length > self._max_body:
            raise AnswerTooLarge(self._status)

    def _read_sized(self) -> Answer | None:
        missing = self._length - len(self._body)
        if not self._body and len(self._buffer) >= missing:
            body, self._buffer = self._buffer[:missing], self._buffer[missing:]
            return self._answer(body)
        self._body += self._buffer[:missing]
        self._buffer = self._buffer[missing:]
        return self._answer(bytes(self._body)) if len(self._body) == self._length else None

    def _read_chunks(self) -> Answer | None:
        buffer, at = self._buffer, 0
        while True:
            if self._length:
                # What is there of a chunk is taken at once: kept until its end, it would be copied
                # again with every piece that arrives.
                part = buffer[at : at + self._length]
                self._body += part
                self._length -= len(part)
                at += len(part)
                if self._length:
                    break
                if self._body[-2:] != b"\r\n":
                    raise UnreadableAnswer("the response has a chunk that does not match its size")
                del self._body[-2:]
            line_end = buffer.find(b"\r\n", at)
            if line_end < 0:
                if len(buffer) - at > _MAX_CHUNK_LINE:
                    raise UnreadableAnswer("the response has a chunk without a size")
                break
            size = _chunk_size(buffer[at:line_end])
            if size == 0:
                return self._read_trailer(buffer, at, line_end)
            if len(self._body) + size > self._max_body:
                raise AnswerTooLarge(self._status)
            self._length = size + 2  # with the line break after it
            at = line_end + 2
        self._buffer = buffer[at:]
        return None

    def _read_trailer(self, buffer: bytes, at: int, line_end: int) -> Answer | None:
        """Headers may follow the last chunk; an empty line ends them."""
        end = buffer.find(b"\r\n\r\n", line_end)
        if end < 0:
            if len(buffer) - at > _MAX_HEAD:
                raise UnreadableAnswer("the response does not end after its last chunk")
            self._buffer = buffer[at:]
            return None
        self._buffer = buffer[end + 4 :]
        return self._answer(bytes(self._body))

    def _add(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > self._max_body:
            raise AnswerTooLarge(self._status)

    def _answer(self, body: bytes) -> Answer:
        self._where = "done"
        encoding = _header(self._lower, b"content-encoding")
        if encoding:
            body = self._decoded(body, encoding)
        return Answer(self._status, self._head, body)

    def _decoded(self, body: bytes, encoding: bytes) -> bytes:
        """Some proxies compress responses without being asked to."""
        if encoding == b"identity":
            return body
        if encoding not in (b"gzip", b"x-gzip"):
            raise UndecodableBody("the response has a content encoding that was not requested")
        decoder = zlib.decompressobj(wbits=31)
        try:
            plain = decoder.decompress(body, self._max_body + 1)
        except zlib.error:
            raise UndecodableBody("the response says gzip but is not") from None
        if len(plain) > self._max_body:
            raise AnswerTooLarge(self._status)
        return plain


def _may_be_http(start: bytes) -> bool:
    return start[:5] == b"HTTP/"[: len(start)]


def _status(head: bytes) -> int:
    code = head[9:12]
    if not head.startswith(b"HTTP/1.") or not code.isdigit() or len(code) != 3:
        raise UnreadableAnswer("the response is not HTTP")
    return int(code)


def _header(lower: bytes, name: bytes) -> bytes | None:
    """The value of a header in a lower-case head; None if it is absent."""
    at = lower.find(b"\r\n" + name + b":")
    if at < 0:
        return None
    start = at + len(name) + 3
    end = lower.find(b"\r\n", start)
    return lower[start:].strip() if end < 0 else lower[start:end].strip()


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    try:
        size = int(digits, 16)
    except ValueError:
        size = -1
    if size < 0 or not digits.isalnum():
        raise UnreadableAnswer("the response has a chunk without a size")
    return size
