"""The heads of requests: offers of another protocol, trailers, and how long a head may be."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from tests.integration.serving.listening import listening

pytestmark = pytest.mark.anyio

UPGRADE = (
    b"POST /%d HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings\r\n"
    b"http2-settings: AAEAAEAA\r\nupgrade: h2c\r\n"
)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the path and the body."""
    body = await Request(scope, receive).body()
    await PlainTextResponse(f"{scope['path']} {body.decode()}\n")(scope, receive, send)


async def answered(port: int, parts: Sequence[bytes], count: int) -> list[bytes]:
    """The last line of each answer, of `count` answers to what is sent in these parts."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(0.02)
    async with asyncio.timeout(60):
        answers = []
        for _ in range(count):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            answers.append(await reader.readline())
    writer.close()
    await writer.wait_closed()
    return answers


async def test_a_request_that_offers_another_protocol_keeps_its_body(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Java's client offers HTTP/2 with the first request of every connection.
    sized = UPGRADE % 1 + b"content-length: 5\r\n\r\nhello"
    chunked = UPGRADE % 2 + b"transfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
    empty = UPGRADE.replace(b"POST", b"GET") % 3 + b"\r\n"
    expected = [b"/1 hello\n", b"/2 hello\n", b"/3 \n"]
    async with listening(60, app=echo) as port:
        together = sized + chunked + empty
        assert await answered(port, [together], 3) == expected
        middle = len(UPGRADE) - 7
        apart = [sized[:middle], sized[middle:-5], sized[-5:-2], sized[-2:] + chunked, empty]
        assert await answered(port, apart, 3) == expected
        assert await answered(port, [empty * 2000], 2000) == [b"/3 \n"] * 2000
    assert caplog.text == ""


async def test_the_body_of_such_a_request_is_not_taken_for_the_next_request() -> None:
    inner = b"GET /secret HTTP/1.1\r\nhost: x\r\n\r\n"
    async with listening(60, app=echo) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(UPGRADE % 1 + b"content-length: %d\r\n\r\n" % len(inner) + inner)
        writer.write_eof()
        answer = await asyncio.wait_for(reader.read(), 60)
        assert answer.count(b"HTTP/1.1 200 ") == 1
        assert b"/1 GET /secret" in answer
        writer.close()
        await writer.wait_closed()


async def test_trailers_are_not_headers() -> None:
    # Whatever checks headers before this server does not look at trailers.
    async def show(scope: Scope, receive: Receive, send: Send) -> None:
        await Request(scope, receive).body()
        names = b" ".join(name for name, _ in scope["headers"])
        await PlainTextResponse(names + b"\n")(scope, receive, send)

    chunked = (
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
        b"2\r\n{}\r\n0\r\nauthorization: Bearer alice\r\n\r\n"
    )
    async with listening(60, app=show) as port:
        expected = [b"host transfer-encoding\n"]
        assert await answered(port, [chunked], 1) == expected
        assert await answered(port, [chunked[:-10], chunked[-10:]], 1) == expected


@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\nhost: x\r\nx-one: ", b"GET /"])
async def test_headers_without_end_are_refused(start: bytes) -> None:
    async with listening(60) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(start)
        for _ in range(32):
            writer.write(b"y" * 65536)
            await asyncio.wait_for(writer.drain(), 60)
        answer = await asyncio.wait_for(reader.read(), 60)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"The headers are too large." in answer
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("rest", [b"0\r\nx-trailer: ", b"2;extension="])
async def test_trailers_without_end_are_not_kept(rest: bytes) -> None:
    ended = asyncio.Event()

    async def wait_for_body(_scope: Scope, receive: Receive, _send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.set()

    async with listening(60, app=wait_for_body) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" + rest)
        with suppress(ConnectionError):
            for _ in range(32):
                writer.write(b"y" * 65536)
                await asyncio.wait_for(writer.drain(), 60)
            await asyncio.wait_for(reader.read(), 60)
        await asyncio.wait_for(ended.wait(), 60)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@pytest.mark.parametrize(("length", "status"), [(60_000, b"200"), (70_000, b"400")])
async def test_headers_that_come_at_once_have_the_same_limit(length: int, status: bytes) -> None:
    async with listening(60, app=echo) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        request = b"POST /1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 9000\r\n"
        writer.write(b"%bx-long: %b\r\n\r\n%b" % (request, b"y" * length, b"z" * 9000))
        answer = await asyncio.wait_for(reader.read(), 60)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert (b"The headers are too large." in answer) == (status == b"400")
        writer.close()
        await writer.wait_closed()


async def test_headers_may_be_long_and_come_slowly() -> None:
    request = b"GET /1 HTTP/1.1\r\nhost: x\r\nx-long: %b\r\n\r\n" % (b"y" * 60000)
    async with listening(60, app=echo) as port:
        parts = [request[at : at + 10000] for at in range(0, len(request), 10000)]
        assert await answered(port, [*parts, *parts], 2) == [b"/1 \n"] * 2
        # Small requests do not add up.
        small = b"GET /2 HTTP/1.1\r\nhost: x\r\nx-long: %b\r\n\r\n" % (b"y" * 1000)
        assert await answered(port, [small * 20] * 10, 200) == [b"/2 \n"] * 200


@pytest.mark.parametrize("target", [b"example.org:80", b"http://example.org/"])
async def test_connect_is_refused(target: bytes) -> None:
    async with listening(60, app=echo) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"CONNECT %b HTTP/1.1\r\nhost: x\r\n\r\n" % target)
        answer = await asyncio.wait_for(reader.read(), 60)
        assert answer.startswith(b"HTTP/1.1 400 ")
        writer.close()
        await writer.wait_closed()


async def test_a_client_of_http_1_0_is_not_told_to_continue() -> None:
    """It does not know the word, and would take that for the answer."""
    head = b"POST /1 HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n"
    async with listening(60, app=echo) as port:
        assert await answered(port, [head, b"abc"], 1) == [b"/1 abc\n"]
