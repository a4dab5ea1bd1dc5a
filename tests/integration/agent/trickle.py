"""Servers that misbehave in their answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Speak = Callable[[asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@asynccontextmanager
async def speaking(speak: Speak) -> AsyncIterator[str]:
    """The URL of a server that reads a request and then runs `speak`."""
    served: list[tuple[asyncio.Task[None], asyncio.StreamWriter]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            await speak(writer)
            await writer.drain()
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append((asyncio.create_task(serve(reader, writer)), writer))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task, writer in served:
            task.cancel()
            with suppress(asyncio.CancelledError):  # also if it has not begun
                await task
            writer.transport.abort()
        await server.wait_closed()


async def trickle(writer: asyncio.StreamWriter) -> None:
    """A valid answer, one space at a time, without an end."""
    writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"1\r\n \r\n")
        await writer.drain()
        await asyncio.sleep(0.02)


async def trickle_headers(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: yes\r\n")
        await writer.drain()
        await asyncio.sleep(0.02)


async def flood(writer: asyncio.StreamWriter) -> None:
    """An endless answer."""
    writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"[" * 0x10000 + b"\r\n")
        await writer.drain()


async def gibberish(writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x00\xff this is not HTTP\r\n\r\n")


async def broken_gzip(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope")


async def half(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b'Content-Length: 100\r\n\r\n{"results": [')


async def nothing(_: asyncio.StreamWriter) -> None:
    pass


async def silence(_: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()
