"""The HTTP protocol: how a connection that nobody uses any more ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

from serving import service
from serving.protocol import Protocol

pytestmark = pytest.mark.anyio

REQUEST = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"


@asynccontextmanager
async def listening(keep_alive: int) -> AsyncIterator[int]:
    """The port of a server that answers `ok`."""
    config = uvicorn.Config(PlainTextResponse("ok"), timeout_keep_alive=keep_alive, log_config=None)
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: Protocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def test_a_connection_is_kept_longer_than_clients_keep_it() -> None:
    # Go and others: 90 s. Whoever closes first must be the client.
    assert service._KEEP_ALIVE_SECONDS >= 120


async def test_a_request_that_crosses_the_end_of_its_connection_meets_no_reset() -> None:
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
