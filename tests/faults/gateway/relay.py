"""A relay between two processes that reports every packet before it passes it on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

Step = Callable[[str], Awaitable[bool]]
"""Gets `database >`, `database <`, `plugin >` or `plugin <`; False cuts the connection instead."""

_CHUNK = 65_536


@asynccontextmanager
async def relay(listen: Path, upstream: Path, name: str, step: Step) -> AsyncIterator[None]:
    """Clients of `listen` are connected to `upstream`; both are unix sockets."""
    running = set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        task.add_done_callback(running.discard)
        try:
            there, back = await asyncio.open_unix_connection(str(upstream))
        except OSError:
            writer.transport.abort()
            return
        pumps = [
            asyncio.create_task(_pump(reader, back, f"{name} >", step)),
            asyncio.create_task(_pump(there, writer, f"{name} <", step)),
        ]
        try:
            # When one side is gone, the other is told.
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            back.transport.abort()
            writer.transport.abort()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    server = await asyncio.start_unix_server(serve, str(listen))
    try:
        yield
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await asyncio.sleep(0)  # aborted connections close in the next round of the loop


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str, step: Step
) -> None:
    with suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            if not await step(name):
                return
            writer.write(chunk)
            await writer.drain()
