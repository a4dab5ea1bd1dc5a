"""The client against a gateway on a real socket that misbehaves in every possible way."""

import asyncio
import gzip
import json
import socket
from typing import Any

import pytest

from agent import GatewayConfig, MemoryGatewayClient, MemoryGatewayError
from agent.config import AgentConfig, MemoryConfig
from agent.loader import EngineLoader
from agent.scripted_provider import ScriptedProvider
from tests.integration.agent import trickle
from tests.integration.agent.trickle import Speak, speaking
from tests.integration.contract.stub import Reply, Stub, serving
from tests.unit.agent.world import KEY

pytestmark = pytest.mark.anyio


def client(url: str, seconds: float = 60.0, **more: Any) -> MemoryGatewayClient:
    config = GatewayConfig(
        base_url=url, user_id="ada", user_key=KEY, timeout_seconds=seconds, **more
    )
    return MemoryGatewayClient(config)


async def failure(it: MemoryGatewayClient) -> MemoryGatewayError:
    try:
        with pytest.raises(MemoryGatewayError) as error:
            await it.search(conversation_id="s1", query="cat?")
    finally:
        await it.aclose()
    assert error.value.__cause__ is None
    assert error.value.__context__ is None
    return error.value


async def test_a_conversation_with_a_gateway(server: Stub) -> None:
    server.answer("POST", "/memories/search", Reply(body={"results": [{"text": "tea ☕"}]}))
    server.answer("POST", "/memories/add", Reply(body={"status": "accumulated"}))
    server.answer("POST", "/memories/flush", Reply(body={"status": "extracted"}))
    it = client(server.url)
    assert await it.search(conversation_id="s1", query="tea ☕") == [{"text": "tea ☕"}]
    assert await it.add(session_id="chat:s1", messages=[]) == {"status": "accumulated"}
    assert await it.flush(session_id="chat:s1") == {"status": "extracted"}
    await it.aclose()
    assert [request.path for request in server.requests] == [
        "/memories/search",
        "/memories/add",
        "/memories/flush",
    ]
    assert server.requests[0].json["query"] == "tea ☕"


@pytest.mark.parametrize(
    "speak", [trickle.trickle, trickle.trickle_headers, trickle.silence], ids=lambda it: it.__name__
)
async def test_an_answer_that_never_ends_is_a_timeout(speak: Speak) -> None:
    async with speaking(speak) as url:
        error = await failure(client(url, seconds=0.3))
    assert (error.category, error.status_code) == ("timeout", None)


@pytest.mark.parametrize(
    ("speak", "category"),
    [
        (trickle.flood, "invalid_response"),
        (trickle.broken_gzip, "invalid_response"),
        (trickle.gibberish, "connection"),
        (trickle.half, "connection"),
        (trickle.nothing, "connection"),
    ],
    ids=lambda it: getattr(it, "__name__", it),
)
async def test_malformed_answers(speak: Speak, category: str) -> None:
    async with speaking(speak) as url:
        assert (await failure(client(url))).category == category


async def test_a_gateway_that_is_not_there() -> None:
    async with serving() as gone:
        pass
    error = await failure(client(gone.url))
    assert (error.category, error.status_code) == ("connection", None)
    error = await failure(client("http://no-such-host.invalid"))
    assert error.category in ("connection", "timeout")


async def test_redirects_are_not_followed(server: Stub) -> None:
    async with serving() as thief:
        thief.answer("POST", "/memories/search", Reply(body={"results": []}))
        for status in (301, 302, 303, 307, 308):
            headers = {"Location": f"{thief.url}/memories/search"}
            server.answer("POST", "/memories/search", Reply(status, headers=headers))
            error = await failure(client(server.url))
            assert (error.category, error.status_code) == ("http_error", status)
        assert thief.requests == []


async def test_nothing_is_retried(server: Stub) -> None:
    for reply in (Reply(503, headers={"Retry-After": "0"}), Reply(hang_up=True), Reply(429)):
        server.answer("POST", "/memories/search", reply)
        before = len(server.requests)
        await failure(client(server.url))
        assert len(server.requests) == before + 1


async def test_proxies_of_the_environment_are_not_used(
    server: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer("POST", "/memories/search", Reply(body={"results": []}))
    async with serving() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        it = client(server.url)
        assert await it.search(conversation_id="s1", query="cat?") == []
        await it.aclose()
        assert proxy.requests == []


async def test_cookies_are_not_kept(server: Stub) -> None:
    headers = {"Set-Cookie": f"echo={KEY}; Path=/"}
    server.answer("POST", "/memories/search", Reply(body={"results": []}, headers=headers))
    it = client(server.url)
    for _ in range(2):
        await it.search(conversation_id="s1", query="cat?")
    await it.aclose()
    assert all("cookie" not in request.headers for request in server.requests)


async def test_a_compressed_answer_is_understood(server: Stub) -> None:
    body = gzip.compress(json.dumps({"results": ["x" * 1000]}).encode())
    server.answer(
        "POST", "/memories/search", Reply(body=body, headers={"Content-Encoding": "gzip"})
    )
    it = client(server.url)
    assert await it.search(conversation_id="s1", query="cat?") == ["x" * 1000]
    await it.aclose()


async def test_a_connection_is_not_kept_for_the_next_call() -> None:
    """A gateway that closes an idle connection cannot make the next call fail."""
    connections = 0

    async def answer(writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.write(trickle.HEAD + b'Content-Length: 15\r\n\r\n{"results": []}')

    async with speaking(answer) as url:
        it = client(url)
        for _ in range(3):
            assert await it.search(conversation_id="s1", query="cat?") == []
        await it.aclose()
    assert connections == 3


async def test_a_closed_client_raises_its_own_error(server: Stub) -> None:
    it = client(server.url)
    await it.aclose()
    await it.aclose()
    assert (await failure(it)).category == "connection"


async def test_what_cannot_be_written_as_json_is_reported_without_the_request(server: Stub) -> None:
    it = client(server.url)
    for wrong in ({"content": object()}, {"content": float("nan")}):
        with pytest.raises((TypeError, ValueError), match="cannot be written as JSON") as error:
            await it.add(session_id="chat:s1", messages=[wrong])
        assert error.value.__context__ is None
    await it.aclose()
    assert server.requests == []


async def test_cancellation_is_passed_on() -> None:
    asked = asyncio.Event()

    async def silence(writer: asyncio.StreamWriter) -> None:
        asked.set()
        await trickle.silence(writer)

    async with speaking(silence) as url:
        it = client(url)
        task = asyncio.create_task(it.search(conversation_id="s1", query="cat?"))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await it.aclose()


async def test_a_run_is_not_held_up_by_a_trickling_gateway(tmp_path: Any) -> None:
    async with speaking(trickle.trickle) as url:
        gateway = GatewayConfig(base_url=url, user_id="ada", user_key=KEY, timeout_seconds=0.2)
        memory = MemoryConfig(mode="hybrid", explicit=True, gateway=gateway)
        config = AgentConfig(memory=memory, provider=None, workspace=tmp_path)
        engine = EngineLoader(config, provider=ScriptedProvider(["Hello."])).load()
        result = await engine.loop.run("hi")
        events = [
            (it.name, it.payload["category"]) for it in engine.sessions.events(result.session_id)
        ]
        await engine.aclose()
    assert (result.text, result.finish_reason) == ("Hello.", "stop")
    assert events == [
        ("memory_gateway_recall_failed", "timeout"),
        ("memory_gateway_add_failed", "timeout"),
    ]


def test_one_client_serves_several_event_loops() -> None:
    async def serve_and_ask(it: MemoryGatewayClient, port: int) -> list[Any]:
        stub = Stub()
        stub.answer("POST", "/memories/search", Reply(body={"results": [1]}))
        async with await asyncio.start_server(stub.accept, "127.0.0.1", port):
            found = await it.search(conversation_id="s1", query="cat?")
            await stub.drop()
            return found

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    it = client(f"http://127.0.0.1:{port}")
    assert [asyncio.run(serve_and_ask(it, port)) for _ in range(2)] == [[1], [1]]
    asyncio.run(it.aclose())
