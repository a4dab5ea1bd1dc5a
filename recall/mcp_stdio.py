"""MCP on stdio: editors start it with `memory-recall mcp`."""

import asyncio
from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.stdio import stdio_server

from recall.caller import Caller
from recall.settings import Settings
from recall.tools import Tools, mcp_server
from recall.worker import Worker
from serving.metrics import Metrics


def serve_stdio(settings: Settings, owner: str | None) -> None:
    """Serve the tools until stdin ends, for one owner or (None) for all."""
    asyncio.run(_serve(settings, Caller(owner)))


async def _serve(settings: Settings, caller: Caller) -> None:
    async def caller_of(_context: ServerRequestContext[Any]) -> Caller:
        return caller

    worker = Worker(settings, Metrics("memory_recall"))
    server = mcp_server(Tools(worker), caller_of)
    async with worker.running(), stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
