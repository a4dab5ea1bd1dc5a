"""The transport against servers that behave, and servers that do not."""

import asyncio
import gzip
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from contract import Address
from contract.http1 import Answer, AnswerTooLarge
from contract.transport import HttpTransport, Interrupted, NotConnected, Undecodable
from tests.waiting import eventually, pass_time

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
    """Sends the given answers to every request; counts connections."""

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
async def client_of(server: Server, **limits: int) -> AsyncIterator[HttpTransport]:
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    client = HttpTransport(Address.parse(f"http://127.0.0.1:{port}/base"), **limits)
    async with listening:
        yield client
        await client.aclose()


async def get(client: HttpTransport) -> Answer:
    return await client.request("GET", "/", {})


async def test_requests_one_after_the_other_share_a_connection() -> None:
    server = Server(OK)
    async with client_of(server) as client:
        for number in range(3):
            answer = await client.request("POST", "/v1/search", {"X-A": "b"}, b'{"n": %d}' % number)
            assert (answer.status, answer.body) == (200, b"ok")
    assert server.connections == 1
    head, _, body = server.requests[2].partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    assert first == b"POST /base/v1/search HTTP/1.1"
    assert lines[0].startswith(b"Host: 127.0.0.1:")
    assert lines[1:] == [b"X-A: b", b"Content-Length: 8"]
    assert body == b'{"n": 2}'


@pytest.mark.parametrize(("method", "length"), [("POST", True), ("PUT", True), ("GET", False)])
async def test_a_method_that_usually_has_a_body_says_that_it_has_none(
    method: str, length: bool
) -> None:
    server = Server(OK)
    async with client_of(server) as client:
        await client.request(method, "/", {})
    assert (b"Content-Length: 0" in server.requests[0]) == length


async def test_characters_not_allowed_in_a_request_line_are_encoded() -> None:
    server = Server(OK)
    async with client_of(server) as client:
        await client.request("GET", "/a b\r\nX: y/%2F/ü?q=1#2", {})
    first = server.requests[0].split(b"\r\n")[0]
    assert first == b"GET /base/a%20b%0D%0AX:%20y/%2F/%C3%BC?q=1%232 HTTP/1.1"


async def test_a_header_with_a_line_break_is_refused() -> None:
    async with client_of(Server(OK)) as client:
        with pytest.raises(ValueError, match="line break"):
            await client.request("GET", "/", {"X": "a\r\nY: b"})


async def test_concurrent_requests_have_a_connection_each() -> None:
    server = Server(OK)
    async with client_of(server) as client:
        answers = await asyncio.gather(*(get(client) for _ in range(5)))
    assert [answer.body for answer in answers] == [b"ok"] * 5
    assert server.connections == 5


async def test_requests_beyond_the_limit_wait_for_a_connection() -> None:
    server = Server(OK)
    async with client_of(server, max_connections=2) as client:
        answers = await asyncio.gather(*(get(client) for _ in range(20)))
    assert [answer.body for answer in answers] == [b"ok"] * 20
    assert server.connections == 2


@pytest.mark.parametrize(
    "pieces",
    [
        (OK[:10], OK[10:39], OK[39:]),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        ),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", OK),
    ],
    ids=["in pieces", "chunked", "hints first"],
)
async def test_an_answer_may_come_in_any_shape(pieces: tuple[bytes, ...]) -> None:
    server = Server(*pieces)
    async with client_of(server) as client:
        assert (await get(client)).body == b"ok"
        assert (await get(client)).body == b"ok"
    assert server.connections == 1


async def test_an_answer_that_ends_with_the_connection_is_whole() -> None:
    async with client_of(Server(b"HTTP/1.1 200 OK\r\n\r\nok", close=True)) as client:
        assert (await get(client)).body == b"ok"
        assert (await get(client)).body == b"ok"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
        b"HTTP/1.0 204 No Content\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\nmore than was asked for",
    ],
    ids=["close", "old", "too much"],
)
async def test_a_connection_that_cannot_be_reused_is_closed(answer: bytes) -> None:
    server = Server(answer)
    async with client_of(server) as client:
        assert [(await get(client)).status for _ in range(3)] == [204] * 3
    assert server.connections == 3


async def test_unsolicited_bytes_end_the_connection() -> None:
    answered, closed = asyncio.Event(), asyncio.Event()

    async def chatty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        await writer.drain()
        if not closed.is_set():
            await answered.wait()
            writer.write(OK.replace(b"ok", b"no"))
            with suppress(ConnectionError):
                await reader.read()
            closed.set()
        writer.close()

    listening = await asyncio.start_server(chatty, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    client = HttpTransport(Address.parse(url))
    async with listening:
        assert (await get(client)).body == b"ok"
        answered.set()
        await closed.wait()
        assert (await get(client)).body == b"ok"


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (OK[:20],),
        (OK[:-1],),
        (b"220 mail.example.org ESMTP\r\n",),
        (b"HTTP/1.1 two hundred\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: magic\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,),
    ],
)
async def test_a_partial_or_missing_answer_is_an_interruption(pieces: tuple[bytes, ...]) -> None:
    async with client_of(Server(*pieces, close=True)) as client:
        with pytest.raises(Interrupted):
            await get(client)


async def test_an_unrequested_compressed_answer_is_read() -> None:
    packed = gzip.compress(b"ok" * 50)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    async with client_of(Server(head + packed)) as client:
        assert (await get(client)).body == b"ok" * 50
    async with client_of(Server(head + packed), max_answer=99) as client:
        with pytest.raises(AnswerTooLarge):
            await get(client)


@pytest.mark.parametrize("encoding", [b"gzip", b"br"])
async def test_an_answer_that_cannot_be_decoded_is_reported(encoding: bytes) -> None:
    answer = OK.replace(b"\r\n\r\n", b"\r\nContent-Encoding: " + encoding + b"\r\n\r\n")
    async with client_of(Server(answer)) as client:
        with pytest.raises(Undecodable):
            await get(client)


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nok",
    ],
    ids=["length", "chunked", "to the end"],
)
async def test_an_answer_is_read_up_to_the_limit_and_no_further(answer: bytes) -> None:
    async with client_of(Server(answer, close=True), max_answer=2) as client:
        assert (await get(client)).body == b"ok"
    async with client_of(Server(answer, close=True), max_answer=1) as client:
        with pytest.raises(AnswerTooLarge):
            await get(client)


async def test_a_closed_port_is_not_connected() -> None:
    client = HttpTransport(Address.parse("http://127.0.0.1:1"))
    with pytest.raises(NotConnected):
        await get(client)


@pytest.mark.parametrize("name", ["nobody.invalid", "a..b", "a" * 64])
async def test_an_unknown_host_name_is_not_connected(name: str) -> None:
    client = HttpTransport(Address.parse(f"http://{name}"))
    with pytest.raises(NotConnected):
        await get(client)


class Forgetful(Server):
    """Answers the first request of a connection, and closes it when a second one arrives."""

    def __init__(self, *pieces: bytes, rest: bytes = b"") -> None:
        super().__init__(*pieces)
        self.rest = rest

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            self.requests.append(await read_request(reader))
            writer.writelines(self.pieces)
            self.requests.append(await read_request(reader))
            writer.write(self.rest)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def test_a_repeatable_request_survives_the_end_of_an_idle_connection() -> None:
    server = Forgetful(OK)
    async with client_of(server) as client:
        for _ in range(2):
            answer = await client.request("POST", "/v1/search", {}, b"{}", repeatable=True)
            assert answer.body == b"ok"
    assert (server.connections, len(server.requests)) == (2, 3)


async def test_another_request_is_not_sent_twice() -> None:
    server = Forgetful(OK)
    async with client_of(server) as client:
        await client.request("POST", "/", {}, b"{}")
        with pytest.raises(Interrupted):
            await client.request("POST", "/", {}, b"{}")
    assert (server.connections, len(server.requests)) == (1, 2)


async def test_a_request_whose_answer_has_begun_is_not_sent_twice() -> None:
    server = Forgetful(OK, rest=OK[:-1])
    async with client_of(server) as client:
        await client.request("POST", "/", {}, b"{}", repeatable=True)
        with pytest.raises(Interrupted):
            await client.request("POST", "/", {}, b"{}", repeatable=True)
    assert (server.connections, len(server.requests)) == (1, 2)


async def test_a_repeatable_request_on_a_new_connection_is_sent_once() -> None:
    server = Server(close=True)
    async with client_of(server) as client:
        with pytest.raises(Interrupted):
            await client.request("POST", "/", {}, b"{}", repeatable=True)
    assert len(server.requests) == 1


async def test_a_cancelled_request_does_not_answer_the_next() -> None:
    late = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        await late.wait()
        writer.write(OK.replace(b"ok", b"no"))
        writer.close()

    listening = await asyncio.start_server(slow, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    client = HttpTransport(Address.parse(url), max_connections=1)
    async with listening:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(get(client), 0.05)
        late.set()
        assert (await get(client)).body == b"no"


async def test_a_unix_socket_works_too(socket_path: Path) -> None:
    listening = await asyncio.start_unix_server(Server(OK), socket_path)
    client = HttpTransport(Address.parse(f"unix:{socket_path}"))
    async with listening:
        assert (await get(client)).body == b"ok"
        await client.aclose()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost, and its key, in one file."""
    path = tmp_path_factory.mktemp("tls") / "cert.pem"
    key = path.with_name("key.pem")
    options = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(
        ["openssl", "req", "-x509", *options.split(), "-keyout", key, "-out", path, *names],
        check=True,
        capture_output=True,
    )
    path.write_text(path.read_text() + key.read_text())
    return path


async def test_https_works_with_a_certificate_that_is_trusted_and_with_no_other(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listening = await asyncio.start_server(Server(OK), "localhost", 0, ssl=context)
    url = f"https://localhost:{listening.sockets[0].getsockname()[1]}"
    async with listening:
        with pytest.raises(NotConnected, match="certificate"):
            await get(HttpTransport(Address.parse(url)))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        client = HttpTransport(Address.parse(url))
        assert (await get(client)).body == b"ok"
        await client.aclose()


class Slow(Server):
    """Answers after as many seconds as the path of the request says, or never."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = asyncio.Event()
        self.asked: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                path = (await read_request(reader)).split()[1]
                self.asked.append(path)
                if path == b"/base/never":
                    await reader.readexactly(1)
                await asyncio.sleep(float(path.removeprefix(b"/base/")))
                writer.write(OK)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.lost.set()
        finally:
            writer.close()


async def within(client: HttpTransport, seconds: float, path: str) -> bytes:
    deadline = asyncio.get_running_loop().time() + seconds
    return (await client.request("GET", path, {}, deadline=deadline)).body


@pytest.mark.parametrize("seconds", [0.1, -1])
async def test_a_deadline_is_kept_after_a_request_with_a_later_one(seconds: float) -> None:
    server = Slow()
    async with client_of(server) as client:
        assert await within(client, 60, "/0") == b"ok"
        with pytest.raises(TimeoutError):
            await within(client, seconds, "/never")
        await server.lost.wait()
    assert server.connections == 1


async def test_a_request_is_not_cut_off_at_the_deadline_of_the_one_before() -> None:
    server = Slow()
    async with client_of(server) as client:
        assert await within(client, 60, "/0") == b"ok"
        second = asyncio.create_task(within(client, 600, "/90"))
        await eventually(lambda: len(server.asked) == 2)
        pass_time(100)
        assert await second == b"ok"
        with pytest.raises(TimeoutError):
            await within(client, 0.1, "/never")
        await server.lost.wait()
    assert server.connections == 1


async def test_the_deadline_includes_the_wait_for_a_connection() -> None:
    server = Slow()
    async with client_of(server, max_connections=1) as client:
        first = asyncio.create_task(within(client, 600, "/never"))
        await eventually(lambda: server.asked)
        with pytest.raises(TimeoutError):
            await within(client, 0.1, "/0")
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
