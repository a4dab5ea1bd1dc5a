"""The HTTP protocol: how an idle connection ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

from serving import service
from serving.protocol import Protocol

pytestmark = pytest.mark.anyio

REQUEST = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"


@asynccontextmanager
async def listening(keep_alive: int, state: ServerState | None = None) -> AsyncIterator[int]:
    """The port of a server that answers `ok`."""
    config = uvicorn.Config(PlainTextResponse("ok"), timeout_keep_alive=keep_alive, log_config=None)
    shared = state or ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: Protocol(config=config, server_state=shared, app_state={}), "127.0.0.1", 0
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


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


async def test_a_request_sent_while_its_connection_closes_gets_no_reset() -> None:
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
