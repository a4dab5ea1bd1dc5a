"""The lean transport against servers that behave, and servers that do not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from backfill.transport import lean_transport

pytestmark = pytest.mark.anyio

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """One whole request."""
    head = await reader.readuntil(b"\r\n\r\n")
    size = next(
        (
            int(line[15:])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        ),
        0,
    )
    return head + await reader.readexactly(size)


class Server:
    """Answers every request on a connection with what it is given; counts connections."""

    def __init__(self, *pieces: bytes, close: bool = False) -> None:
        self.pieces = pieces
        self.close = close
        self.connections = 0
        self.requests: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                self.requests.append(await read_request(reader))
                for piece in self.pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
                if self.close:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def client_of(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    async with listening, httpx.AsyncClient(base_url=url, transport=lean_transport(url)) as client:
        yield client


async def test_requests_one_after_the_other_share_a_connection() -> None:
    server = Server(OK)
    async with client_of(server) as client:
        for number in range(3):
            answer = await client.post("/v1/search", content=b'{"n": %d}' % number)
            assert (answer.status_code, answer.text) == (200, "ok")
    assert server.connections == 1
    assert server.requests[2].startswith(b"POST /v1/search HTTP/1.1\r\n")
    assert server.requests[2].endswith(b'\r\n\r\n{"n": 2}')


async def test_requests_at_once_have_a_connection_each() -> None:
    server = Server(OK)
    async with client_of(server) as client:
        answers = await asyncio.gather(*(client.get("/") for _ in range(5)))
    assert [answer.text for answer in answers] == ["ok"] * 5
    assert server.connections == 5


@pytest.mark.parametrize(
    "pieces",
    [
        (OK[:10], OK[10:39], OK[39:]),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        ),
    ],
    ids=["in pieces", "chunked"],
)
async def test_an_answer_may_come_in_any_shape(pieces: tuple[bytes, ...]) -> None:
    async with client_of(Server(*pieces)) as client:
        assert (await client.get("/")).text == "ok"
        assert (await client.get("/")).text == "ok"


async def test_an_answer_that_ends_with_the_connection_is_whole() -> None:
    async with client_of(Server(b"HTTP/1.1 200 OK\r\n\r\nok", close=True)) as client:
        assert (await client.get("/")).text == "ok"
        assert (await client.get("/")).text == "ok"


async def test_a_server_that_closes_after_each_answer_is_connected_to_again() -> None:
    server = Server(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", close=True)
    async with client_of(server) as client:
        assert [(await client.get("/")).status_code for _ in range(3)] == [204] * 3
    assert server.connections == 3


@pytest.mark.parametrize(
    "pieces", [(), (OK[:20],), (OK[:-1],), (b"220 mail.example.org ESMTP\r\n",)]
)
async def test_half_an_answer_is_an_error_that_the_client_knows(pieces: tuple[bytes, ...]) -> None:
    async with client_of(Server(*pieces, close=True)) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get("/")


async def test_a_port_where_nobody_listens_is_an_error_that_the_client_knows() -> None:
    url = "http://127.0.0.1:1"
    async with httpx.AsyncClient(base_url=url, transport=lean_transport(url)) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("/")


async def test_a_request_that_was_given_up_does_not_answer_the_next() -> None:
    late = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        await late.wait()
        writer.write(OK.replace(b"ok", b"no"))
        writer.close()

    listening = await asyncio.start_server(slow, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    transport = lean_transport(url)
    async with listening, httpx.AsyncClient(base_url=url, transport=transport) as client:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.get("/"), 0.05)
        late.set()
        assert (await client.get("/")).text == "no"


async def test_a_unix_socket_works_too(tmp_path: Path) -> None:
    path = tmp_path / "s"
    listening = await asyncio.start_unix_server(Server(OK), path)
    transport = lean_transport(f"unix:{path}")
    async with listening, httpx.AsyncClient(transport=transport) as client:
        assert (await client.get("http://localhost/")).text == "ok"


def test_https_is_left_to_httpx() -> None:
    assert lean_transport("https://plugin.example.org") is None
