"""MCP on stdio: editors start it with `memory-recall mcp`."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from recall.caller import Caller
from recall.settings import Settings
from recall.tools import Tools, failed, mcp_server
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
    async with (
        worker.running(),
        stdio_server() as (reading, writing),
        _readable(reading, writing) as messages,
    ):
        await server.run(messages, writing, server.create_initialization_options())


@asynccontextmanager
async def _readable(
    reading: Any, writing: Any
) -> AsyncIterator[MemoryObjectReceiveStream[SessionMessage | Exception]]:
    """The client's messages. Calls that the SDK cannot read are refused here.

    The SDK leaves them unanswered, and most clients then wait for a minute.
    """
    sender, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)

    async def pass_on() -> None:
        async with sender:
            async for message in reading:
                refusal = _refusal(message) if isinstance(message, ValidationError) else None
                if refusal is None:
                    await sender.send(message)
                else:
                    await writing.send(SessionMessage(refusal))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pass_on)
        yield messages


def _refusal(error: ValidationError) -> types.JSONRPCResponse | None:
    """The response to a tool call; None for anything else."""
    line = error.errors(include_url=False, include_context=False)[0]["input"]
    try:
        # Accepts lone surrogates and deeper nesting, unlike the SDK.
        request = json.loads(line)
        if request["method"] != "tools/call":
            return None
        str(request["id"]).encode()
        reason = _reason(request)
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    result = failed("bad_request", f"arguments: {reason}", [("arguments", reason)])
    shown = result.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return types.JSONRPCResponse(jsonrpc="2.0", id=request["id"], result=shown)


def _reason(request: Any) -> str:
    try:
        json.dumps(request, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "must not contain a lone surrogate"
    return "must not be nested too deeply"
