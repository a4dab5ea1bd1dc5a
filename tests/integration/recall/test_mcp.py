"""The MCP tools with the SDK's own client, over HTTP and over stdio as an editor starts them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.integration.recall.server import COMMAND, Recall
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

CLIENT = {"name": "editor", "version": "1"}
NAMES = {"memory_search", "memory_add", "memory_clear"}


@asynccontextmanager
async def over_http(server: Recall, token: str, path: str = "/mcp") -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{server.url}{path}", http_client=http)) as client,
    ):
        yield client


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    shown: dict[str, Any] = result.structured_content
    assert json.loads(result.content[0].text) == shown  # type: ignore[union-attr]
    assert shown["success"] is True
    data: dict[str, Any] = shown["data"]
    return data


async def refused(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    assert result.structured_content["success"] is False
    return str(result.structured_content["error"]["message"])


async def test_six_tools(server: Recall, owner: str) -> None:
    async with over_http(server, owner) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == NAMES | {f"omniroute_{name}" for name in NAMES}
    assert "key" in tools["memory_add"].input_schema["required"]


@pytest.mark.parametrize("prefix", ["", "omniroute_"])
async def test_an_api_key_adds_searches_and_clears(server: Recall, owner: str, prefix: str) -> None:
    async with over_http(server, owner) as client:
        added = await call(
            client,
            f"{prefix}memory_add",
            type="factual",
            key="tea",
            content="I drink green tea",
            metadata={"a": 1},
        )
        assert added["memory"]["apiKeyId"] == owner
        assert added["message"]
        more = await call(
            client, "memory_add", type="episodic", key="x", content="a trip to see tea fields"
        )
        found = await call(client, f"{prefix}memory_search", query="which tea?")
        assert [it["key"] for it in found["memories"]] == ["tea", "x"]
        assert found["count"] == 2
        assert found["totalTokens"] == 5 + 6
        found = await call(client, "memory_search", query="tea", type="factual", apiKeyId=owner)
        assert [it["key"] for it in found["memories"]] == ["tea"]
        assert (await call(client, "memory_search", limit=1))["count"] == 1
        old = more["memory"]["createdAt"]
        cleared = await call(client, f"{prefix}memory_clear", olderThan=old)
        assert cleared["deletedCount"] == 1
        assert (await call(client, "memory_clear", type="semantic"))["deletedCount"] == 0
        assert (await call(client, "memory_clear"))["deletedCount"] == 1


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_null_means_the_same_as_leaving_out(server: Recall, owner: str, path: str) -> None:
    async with over_http(server, owner, path) as client:
        made = {"type": "factual", "key": "tea", "content": "I drink tea"}
        await call(client, "memory_add", **made, apiKeyId=None, sessionId=None, metadata=None)
        nothing = dict.fromkeys(["apiKeyId", "query", "type", "maxTokens", "limit"])
        found = await call(client, "memory_search", **nothing)
        assert [it["key"] for it in found["memories"]] == ["tea"]
        cleared = await call(client, "memory_clear", apiKeyId=None, type=None, olderThan=None)
        assert cleared["deletedCount"] == 1


async def test_an_api_key_has_its_own_memories_only(server: Recall, owner: str) -> None:
    async with over_http(server, owner) as client:
        for name, more in [
            ("memory_search", {}),
            ("memory_clear", {}),
            ("memory_add", {"type": "factual", "key": "k", "content": "c"}),
        ]:
            assert "apiKeyId" in await refused(client, name, apiKeyId="somebody-else", **more)


async def test_the_management_token_serves_every_owner(
    server: Recall, api: httpx.AsyncClient, owner: str
) -> None:
    async with over_http(server, "test-management") as client:
        await call(client, "memory_add", apiKeyId=owner, type="factual", key="k", content="c")
        assert (await call(client, "memory_search", apiKeyId=owner))["count"] == 1
        assert "apiKeyId" in await refused(client, "memory_search")
    shown = (await api.get("/api/memory", params={"apiKeyId": owner})).json()
    assert shown["total"] == 1


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("memory_search", {"limit": 0}, "limit"),
        ("memory_search", {"maxTokens": 8001}, "maxTokens"),
        ("memory_search", {"query": "\x00"}, "query"),
        ("memory_search", {"type": "fact"}, "type"),
        ("memory_search", {"colour": 1}, "colour"),
        ("memory_add", {"key": "k", "content": "c"}, "type"),
        ("memory_add", {"type": "factual", "key": "k", "content": " "}, "content"),
        ("memory_add", {"type": "factual", "key": 7, "content": "c"}, "key"),
        ("memory_clear", {"olderThan": "yesterday"}, "olderThan"),
        ("memory_nothing", {}, "no such tool"),
    ],
)
async def test_bad_arguments_are_tool_errors(
    server: Recall, owner: str, name: str, arguments: dict[str, Any], field: str
) -> None:
    async with over_http(server, owner) as client:
        assert field in await refused(client, name, **arguments)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"7",
        b"[" * 50_000,
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}',
    ],
)
async def test_what_is_not_mcp_is_4xx(server: Recall, owner: str, body: bytes) -> None:
    headers = {
        "authorization": f"Bearer {owner}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        answer = await client.post("/mcp", content=body, headers=headers)
        assert answer.status_code < 500
        if answer.status_code == 200:
            assert "error" in answer.json()


async def test_a_token_is_required(server: Recall) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        assert (await client.post("/mcp", json={})).status_code == 401
        for origin in ("http://evil.example", "http://["):
            headers = {"authorization": "Bearer a", "origin": origin}
            assert (await client.post("/mcp", json={}, headers=headers)).status_code == 403


async def test_what_a_model_finds_is_counted_as_an_access(
    server: Recall, api: httpx.AsyncClient, owner: str
) -> None:
    async with over_http(server, owner) as client:
        added = await call(client, "memory_add", type="factual", key="k", content="counted")
        await call(client, "memory_search", query="counted")

    async def accessed() -> bool:
        memory = (await api.get(f"/api/memory/{added['memory']['id']}")).json()["memory"]
        return bool(memory["accessCount"] == 1 and memory["lastAccessedAt"])

    await eventually(accessed)


@pytest.mark.parametrize("before", [True, False])
async def test_stdio_as_an_editor_starts_it(
    recall_database: str, plugin_url: str, owner: str, before: bool
) -> None:
    flags = ["--database-url", recall_database, "--plugin-url", plugin_url]
    arguments = [*flags, "mcp"] if before else ["mcp", *flags, "--owner", owner]
    parameters = StdioServerParameters(command=COMMAND, args=arguments)
    async with Client(stdio_client(parameters)) as client:
        named = {"apiKeyId": owner} if before else {}
        await call(client, "memory_add", type="factual", key="k", content="by stdio", **named)
        found = await call(client, "memory_search", query="stdio", **named)
        assert [it["content"] for it in found["memories"]] == ["by stdio"]
        assert len((await client.list_tools()).tools) == 6


async def test_stdio_with_nothing_but_a_data_directory(tmp_path: Path, owner: str) -> None:
    """The embedded PostgreSQL and the plugin come and go with it; the memories stay."""
    arguments = ["mcp", "--data-dir", str(tmp_path / "data"), "--owner", owner]
    parameters = StdioServerParameters(command=COMMAND, args=arguments)
    async with Client(stdio_client(parameters)) as client:
        await call(client, "memory_add", type="factual", key="k", content="kept by a child")
    async with Client(stdio_client(parameters)) as client:
        found = await call(client, "memory_search", query="child")
        assert [it["content"] for it in found["memories"]] == ["kept by a child"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        # JavaScript writes half of an emoji like this, and other languages do not read it.
        (r'"half of an emoji: \ud83d"', "arguments: must not contain a lone surrogate"),
        ("[" * 300 + "]" * 300, "arguments: must not be nested too deeply"),
    ],
)
async def test_stdio_answers_a_call_that_the_sdk_cannot_read(
    recall_database: str, plugin_url: str, content: str, reason: str
) -> None:
    flags = ["--database-url", recall_database, "--plugin-url", plugin_url]
    editor = await asyncio.create_subprocess_exec(
        COMMAND, "mcp", *flags, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert editor.stdin is not None
    assert editor.stdout is not None
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
    arguments = f'{{"name": "memory_add", "arguments": {{"content": {content}}}}}'
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        f'{{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {arguments}}}',
        '{"jsonrpc": "2.0", "id": "\\ud83d", "method": "tools/call", "params": {}}',
        "[1, 2",
        '{"jsonrpc": "2.0", "id": 3, "method": "ping"}',
    ]
    editor.stdin.write("".join(line + "\n" for line in lines).encode())
    async with asyncio.timeout(60):
        answers = [json.loads(await editor.stdout.readline()) for _ in range(3)]
        editor.stdin.close()
        assert await editor.stdout.read() == b""
        assert await editor.wait() == 0
    refused = {answer["id"]: answer["result"] for answer in answers}[2]
    assert {answer["id"] for answer in answers} == {1, 2, 3}
    assert refused["isError"] is True
    assert refused["structuredContent"]["error"]["message"] == reason
    assert json.loads(refused["content"][0]["text"]) == refused["structuredContent"]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_there_is_no_stream_to_open_and_no_session_to_end(
    server: Recall, owner: str, method: str
) -> None:
    headers = {"authorization": f"Bearer {owner}", "accept": "text/event-stream"}
    async with (
        httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60) as client,
        client.stream(method, "/mcp") as answer,
    ):
        assert answer.status_code == 405
        assert answer.headers["allow"] == "POST"
