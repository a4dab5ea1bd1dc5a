"""An answer is parsed the same in whatever pieces it arrives, and the same as by another parser."""

from contextlib import suppress
from itertools import pairwise
from typing import Any

import httptools
from hypothesis import given
from hypothesis import strategies as st

from contract.http1 import (
    Answer,
    AnswerReader,
    AnswerTooLarge,
    UndecodableBody,
    UnreadableAnswer,
)

bodies = st.binary(max_size=300)
header_names = st.from_regex(r"\A[A-Za-z][A-Za-z0-9-]{0,12}\Z").filter(
    lambda name: (
        name.lower()
        not in {"content-length", "transfer-encoding", "connection", "content-encoding", "upgrade"}
        | {"proxy-connection"}
    )
)
header_values = st.from_regex(r"\A[!-~]([ -~]{0,20}[!-~])?\Z")


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """A whole answer: with a length, or in chunks."""
    status = draw(st.sampled_from([200, 201, 400, 404, 503]))
    body = draw(bodies)
    lines = [f"HTTP/1.1 {status} Something"]
    lines += [
        f"{name}: {value}"
        for name, value in draw(st.lists(st.tuples(header_names, header_values), max_size=4))
    ]
    if draw(st.booleans()):
        framing, sent = f"Content-Length: {len(body)}", body
    else:
        framing, sent = "Transfer-Encoding: chunked", b""
        while body:
            size = draw(st.integers(1, len(body)))
            sent += b"%x\r\n%b\r\n" % (size, body[:size])
            body = body[size:]
        sent += b"0\r\n" + draw(st.sampled_from([b"", b"X-After: y\r\n"])) + b"\r\n"
    lines.insert(draw(st.integers(1, len(lines))), framing)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + sent


class Oracle:
    """How httptools parses the same bytes."""

    def __init__(self, data: bytes) -> None:
        self.body = b""
        self.names: list[str] = []
        self.keeps = False
        self._parser = httptools.HttpResponseParser(self)
        self._parser.feed_data(data)
        self.status = self._parser.get_status_code()

    def on_header(self, name: bytes, _: bytes) -> None:
        self.names.append(name.decode().lower())

    def on_message_complete(self) -> None:
        self.keeps = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self.body += body


def read(data: bytes, cuts: list[int]) -> tuple[Answer, AnswerReader]:
    reader = AnswerReader(10_000)
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    pieces = [data[start:end] for start, end in pairwise(places)]
    found: list[Any] = [reader.feed(piece) for piece in pieces]
    assert all(answer is None for answer in found[:-1])
    return found[-1], reader


@given(answers(), st.lists(st.integers(0, 500), max_size=6))
def test_any_pieces_give_the_same_answer_as_another_parser(data: bytes, cuts: list[int]) -> None:
    answer, reader = read(data, cuts)
    oracle = Oracle(data)
    assert (answer.status, answer.body) == (oracle.status, oracle.body)
    assert set(answer.headers) == set(oracle.names) - {"x-after"}
    assert reader.keeps_connection == oracle.keeps


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_refused(data: bytes) -> None:
    answer = None
    with suppress(UnreadableAnswer, UndecodableBody, AnswerTooLarge):
        answer = AnswerReader(100).feed(b"HTTP/1.1 200 OK\r\n" + data)
    assert answer is None or len(answer.body) <= 100


def test_repeated_headers_are_joined() -> None:
    answer = AnswerReader(10).feed(
        b"HTTP/1.1 204 OK\r\nAllow: GET\r\nX-Name:  value \r\nALLOW: PUT\r\n\r\n"
    )
    assert answer is not None
    assert answer.headers == {"allow": "GET, PUT", "x-name": "value"}


def test_a_large_chunk_is_not_copied_again_with_every_piece_of_it() -> None:
    """Servers in Go send a whole page as one chunk; it would hold up everybody for seconds."""
    reader = AnswerReader(max_body=2**20)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n"
    assert reader.feed(head) is None
    for _ in range(256):
        assert reader.feed(b"x" * 4096) is None
        assert len(reader._buffer) < 4096
    answer = reader.feed(b"\r\n0\r\n\r\n")
    assert answer is not None
    assert answer.body == b"x" * 2**20
