"""The HTTP protocol: how an idle connection ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from uvicorn.server import ServerState

from recall.protocol import PassingProtocol
from serving import service
from serving.errors import CutShort
from serving.protocol import Protocol
from serving.whole import WholeResponse
from tests.integration.serving.listening import listening
from tests.waiting import pass_time

pytestmark = pytest.mark.anyio

REQUEST = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"


@asynccontextmanager
async def connected(port: int, state: ServerState) -> AsyncIterator["Connection"]:
    """A client, and the server's side of its connection, which has answered once."""
    before = set(state.connections)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    connection = Connection(reader, writer)
    assert await connection.ask() == b"ok"
    [protocol] = set(state.connections) - before
    assert isinstance(protocol, Protocol)
    connection.protocol = protocol
    try:
        yield connection
    finally:
        writer.close()
        await writer.wait_closed()


async def leave(writer: asyncio.StreamWriter, state: ServerState) -> None:
    """Close the client's side, and wait until the server has noticed."""
    writer.close()
    await writer.wait_closed()
    while state.connections:  # noqa: ASYNC110 - there is no event for it
        await asyncio.sleep(0.01)


@dataclass
class Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    protocol: Protocol = field(init=False)

    def send(self) -> None:
        """Now, while nothing else can run."""
        self.writer.write(REQUEST)

    async def answer(self) -> bytes:
        async with asyncio.timeout(60):
            await self.reader.readuntil(b"\r\n\r\n")
            return await self.reader.readexactly(2)

    async def ask(self) -> bytes:
        self.send()
        return await self.answer()

    def is_open(self) -> bool:
        return not self.protocol.transport.is_closing()


def test_a_connection_is_kept_longer_than_clients_keep_it() -> None:
    # Go and others: 90 s. Whoever closes first must be the client.
    assert service._KEEP_ALIVE_SECONDS >= 120


async def test_a_request_sent_while_its_connection_closes_gets_no_reset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("serving.protocol._CLOSE_SECONDS", 60)
    async with listening(keep_alive=0) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        # The answer, and then the end, which the client has not seen when it sends the next one.
        answer = await asyncio.wait_for(reader.read(), 60)
        assert answer.endswith(b"ok")
        writer.write(REQUEST)
        await writer.drain()
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()
        await writer.wait_closed()


async def test_when_the_server_stops_a_request_that_nobody_has_read_yet_is_answered() -> None:
    state = ServerState()
    async with listening(60, state) as port, connected(port, state) as client:
        client.send()
        client.protocol._close_if_quiet(state.total_requests, until=0)
        assert await client.answer() == b"ok"


async def test_when_the_server_stops_nobody_is_closed_while_others_still_send_requests() -> None:
    state = ServerState()
    async with (
        listening(60, state) as port,
        connected(port, state) as idle,
        connected(port, state) as busy,
    ):
        answered, later = state.total_requests, inf
        assert await busy.ask() == b"ok"
        idle.protocol._close_if_quiet(answered, until=later)
        assert idle.is_open()
        idle.protocol._close_if_quiet(state.total_requests, until=later)
        assert not idle.is_open()
        busy.protocol._close_if_quiet(answered, until=0)
        assert not busy.is_open()


async def test_a_stop_that_may_take_long_waits_longer_for_a_client_that_is_stalled() -> None:
    state = ServerState()
    async with (
        listening(60, state, shutdown_timeout=600) as port,
        connected(port, state) as client,
    ):
        client.protocol.shutdown()
        pass_time(20)
        for _ in range(3):  # whatever is due has run
            await asyncio.sleep(0)
        assert await client.ask() == b"ok"


async def test_only_a_connection_that_has_been_idle_for_long_is_closed() -> None:
    state = ServerState()
    async with listening(60, state) as port, connected(port, state) as client:
        client.protocol._close_if_idle()
        assert client.is_open()
        assert await client.ask() == b"ok"
        assert client.protocol._idle_since is not None
        client.protocol._idle_since -= 61
        client.protocol._close_if_idle()
        assert await asyncio.wait_for(client.reader.read(), 60) == b""


async def test_requests_that_come_before_the_last_is_answered_are_answered_in_order() -> None:
    async def echo(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0)
        await PlainTextResponse(scope["path"])(scope, receive, send)

    async with listening(60, app=echo) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        paths = [b"/%d" % number for number in range(20)]
        writer.write(b"".join(b"GET %b HTTP/1.1\r\nhost: x\r\n\r\n" % path for path in paths))
        writer.write_eof()
        answers = await asyncio.wait_for(reader.read(), 60)
        bodies = [
            answer.rpartition(b"\r\n\r\n")[2] for answer in answers.split(b"HTTP/1.1 200")[1:]
        ]
        assert bodies == paths
        writer.close()
        await writer.wait_closed()


async def test_a_stream_is_sent_as_it_is_made_and_ends_in_time() -> None:
    go_on = asyncio.Event()
    over = asyncio.Event()

    async def stream(_scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        assert await receive() == {"type": "http.request", "body": b"", "more_body": False}
        assert await receive() == {"type": "http.disconnect"}
        over.set()

    async with listening(60, app=stream) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        assert b"transfer-encoding: chunked" in head
        go_on.set()
        assert await asyncio.wait_for(reader.readexactly(8), 60) == b"3\r\none\r\n"
        writer.close()
        await asyncio.wait_for(over.wait(), 60)


async def test_a_client_of_http_1_0_gets_a_stream_without_chunks() -> None:
    async def stream(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one,", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})

    async with listening(60, app=stream) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.0\r\nhost: x\r\n\r\n")
        head, _, body = (await asyncio.wait_for(reader.read(), 60)).partition(b"\r\n\r\n")
        assert b"transfer-encoding" not in head
        assert body == b"one,two"
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("length", "body"), [(b"1", b"two"), (b"5", b"two")], ids=["too long", "too short"]
)
async def test_a_body_of_another_length_than_the_head_says_cuts_the_connection(
    length: bytes, body: bytes
) -> None:
    async def wrong(_scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async with listening(60, app=wrong) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        answer = await asyncio.wait_for(reader.read(), 60)
        assert b"content-length: " + length in answer
        assert len(answer.partition(b"\r\n\r\n")[2]) != int(length)
        writer.close()
        await writer.wait_closed()


async def test_a_whole_response_is_one_message_where_the_server_takes_that() -> None:
    sent: list[str] = []

    async def whole(scope: Scope, receive: Receive, send: Send) -> None:
        async def note_and_send(message: Message) -> None:
            sent.append(message["type"])
            await send(message)

        await WholeResponse(b"ok")(scope, receive, note_and_send)

    async with listening(60, app=whole) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        # The one to HEAD has no body: what follows is the head of the next.
        for method, body in ((b"POST", b"ok"), (b"HEAD", b""), (b"POST", b"ok")):
            writer.write(REQUEST.replace(b"POST", method))
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"content-length: 2\r\n" in head
            assert await asyncio.wait_for(reader.readexactly(len(body)), 60) == body
        writer.close()
        await writer.wait_closed()
    assert sent == ["http.response.start"] * 3


async def test_another_server_gets_a_whole_response_in_two_messages() -> None:
    async def whole(scope: Scope, receive: Receive, send: Send) -> None:
        await WholeResponse(b"ok")(scope, receive, send)

    transport = httpx.ASGITransport(whole)
    async with httpx.AsyncClient(transport=transport, base_url="http://other") as client:
        assert (await client.get("/")).text == "ok"


async def test_a_request_for_another_protocol_is_answered_in_this_one() -> None:
    async with listening(60) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        upgrade = b"connection: upgrade\r\nupgrade: websocket\r\n"
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n" + upgrade + b"\r\n")
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert await asyncio.wait_for(reader.readexactly(2), 60) == b"ok"
        writer.close()
        await writer.wait_closed()


async def test_a_header_cannot_smuggle_in_another() -> None:
    async def split(_scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"x", b"1\r\nset-cookie: 2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async with listening(60, app=split) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        answer = await asyncio.wait_for(reader.read(), 60)
        assert answer.startswith(b"HTTP/1.1 500 ")
        assert b"set-cookie" not in answer
        writer.close()
        await writer.wait_closed()


async def test_a_response_that_is_cut_short_ends_with_its_connection_and_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise CutShort

    async with listening(60, app=broken) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        answer = await asyncio.wait_for(reader.read(), 60)
        assert answer.endswith(b"4\r\nhalf\r\n")
        assert not caplog.records
        writer.close()
        await writer.wait_closed()


async def test_a_request_that_nobody_answers_gets_a_500_and_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def silent(_scope: Scope, _receive: Receive, _send: Send) -> None:
        pass

    async with listening(60, app=silent) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        answer = await asyncio.wait_for(reader.read(), 60)
        assert answer.startswith(b"HTTP/1.1 500 ")
        assert "has not finished its response" in caplog.text
        writer.close()
        await writer.wait_closed()


async def test_a_client_that_leaves_before_a_proxied_response_begins_leaves_no_connection() -> None:
    async def wait_for_upstream(_scope: Scope, receive: Receive, _send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async with listening(60, app=wait_for_upstream, kind=PassingProtocol) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
        writer.write_eof()
        # The client sees the end because the server has closed its side, too.
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("before", [b"", b"http://127.0.0.1:8020"])
async def test_a_proxied_response_has_no_date_of_ours(before: bytes) -> None:
    state = ServerState()
    state.default_headers = [(b"date", b"now")]
    async with listening(60, state, kind=PassingProtocol) as port:
        for path, dates in ((b"/v1/models", 0), (b"/health", 1)):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET %b%b HTTP/1.1\r\nhost: x\r\n\r\n" % (before, path))
            answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\nok"), 60)
            assert answer.count(b"\r\ndate: ") == dates
            writer.close()
            await writer.wait_closed()


async def test_a_304_may_have_the_length_of_the_body_that_it_stands_for() -> None:
    async def unchanged(_scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"5")]
        await send({"type": "http.response.start", "status": 304, "headers": headers})
        await send({"type": "http.response.body"})

    async with listening(60, app=unchanged) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(REQUEST)
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
            assert head.startswith(b"HTTP/1.1 304 ")
        writer.close()
        await writer.wait_closed()


async def test_no_more_is_read_from_a_client_while_many_of_its_requests_wait() -> None:
    count = 200
    entered = asyncio.Event()
    go_on = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        entered.set()
        await go_on.wait()
        await PlainTextResponse("ok")(scope, receive, send)

    state = ServerState()
    async with listening(60, state, app=slow) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not state.connections:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.01)
        [protocol] = state.connections
        assert isinstance(protocol, Protocol)
        protocol.data_received(REQUEST * count)
        await asyncio.wait_for(entered.wait(), 60)
        assert not protocol.transport.is_reading()
        go_on.set()
        for _ in range(count):
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\nok"), 60)
        assert protocol.transport.is_reading()
        writer.close()
        await writer.wait_closed()


async def test_a_client_that_is_refused_while_it_sends_sees_the_answer_and_not_a_reset() -> None:
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        answer = PlainTextResponse("too large", 413, {"connection": "close"})
        await answer(scope, receive, send)

    state = ServerState()
    async with listening(60, state, app=refuse) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        size = 32 * 2**20
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size)
        # Answered, and the server has closed its side, before the first byte of the body is sent.
        answer = await asyncio.wait_for(reader.read(), 60)
        assert answer.startswith(b"HTTP/1.1 413 ")
        for _ in range(size // 2**20):
            writer.write(bytes(2**20))
            await asyncio.wait_for(writer.drain(), 60)
        assert len(state.connections) == 1
        await leave(writer, state)


async def test_a_connection_answered_before_its_body_came_is_closed_when_it_is_idle() -> None:
    state = ServerState()
    async with listening(1, state) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n")
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"body")
        assert await asyncio.wait_for(reader.read(), 60) == b""
        await leave(writer, state)


async def test_a_client_that_goes_on_after_a_bad_request_sees_the_answer_and_not_a_reset() -> None:
    state = ServerState()
    async with listening(60, state) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"NO REQUEST\r\n\r\n")
        assert (await asyncio.wait_for(reader.read(), 60)).startswith(b"HTTP/1.1 400 ")
        for _ in range(8):
            writer.write(bytes(2**20))
            await asyncio.wait_for(writer.drain(), 60)
        assert len(state.connections) == 1
        await leave(writer, state)
