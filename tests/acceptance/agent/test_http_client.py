"""The designs' "HTTP client tests", a test for each line."""

import math
import traceback
from typing import Any

import httpx
import pytest

from agent import GatewayConfig, MemoryGatewayClient, MemoryGatewayError
from tests.unit.agent.world import KEY, FakeGateway

pytestmark = pytest.mark.anyio
CONFIG = GatewayConfig(
    base_url="http://127.0.0.1:8010/prefix",
    user_id="ada",
    user_key=KEY,
    app_id="shop",
    project_id="winter",
    scope=("all_user_memory", "resources"),
    top_k=3,
    timeout_seconds=4.5,
)
MESSAGES = [{"sender_id": "ada", "role": "user", "timestamp": 1, "content": "hi"}]


async def call(client: MemoryGatewayClient, operation: str) -> Any:
    if operation == "search":
        return await client.search(conversation_id="s1", query="cat?")
    if operation == "add":
        return await client.add(session_id="chat:s1", messages=MESSAGES)
    return await client.flush(session_id="chat:s1")


async def test_search_add_and_flush_use_the_exact_paths_and_payload_shapes() -> None:
    gateway = FakeGateway(results=[{"text": "x", "raw": {}}, "odd"])
    client = MemoryGatewayClient(CONFIG, transport=gateway)
    assert await call(client, "search") == [{"text": "x", "raw": {}}, "odd"]
    assert await call(client, "add") == {"status": "accumulated"}
    assert await call(client, "flush") == {"status": "extracted"}
    base = "http://127.0.0.1:8010/prefix/memories"
    assert [(it.method, str(it.url)) for it in gateway.requests] == [
        ("POST", f"{base}/search"),
        ("POST", f"{base}/add"),
        ("POST", f"{base}/flush"),
    ]
    assert {it.headers["content-type"] for it in gateway.requests} == {"application/json"}
    who = {"user_id": "ada", "user_key": KEY, "app_id": "shop", "project_id": "winter"}
    assert gateway.bodies("search") == [
        who
        | {
            "conversation_id": "s1",
            "query": "cat?",
            "scope": ["all_user_memory", "resources"],
            "top_k": 3,
        }
    ]
    assert gateway.bodies("add") == [who | {"session_id": "chat:s1", "messages": MESSAGES}]
    assert gateway.bodies("flush") == [who | {"session_id": "chat:s1"}]
    assert all(KEY not in f"{it.url} {it.headers.raw}" for it in gateway.requests)
    await client.aclose()


async def test_configured_timeout_is_applied() -> None:
    gateway = FakeGateway()
    client = MemoryGatewayClient(CONFIG, transport=gateway)
    await call(client, "flush")
    assert gateway.requests[0].extensions["timeout"] == dict.fromkeys(
        ("connect", "read", "write", "pool"), 4.5
    )
    await client.aclose()


def answers() -> dict[str, tuple[Any, str, int | None]]:
    request = httpx.Request("POST", "http://x", content=KEY)
    return {
        "500": (httpx.Response(500, text=KEY), "http_error", 500),
        "400": (httpx.Response(400, json={"code": KEY}), "http_error", 400),
        "429": (httpx.Response(429, headers={"retry-after": "1"}), "http_error", 429),
        "redirect": (httpx.Response(307, headers={"location": f"/{KEY}"}), "http_error", 307),
        "401": (httpx.Response(401, text=KEY), "unauthorized", 401),
        "403": (httpx.Response(403, text=KEY), "unauthorized", 403),
        "timeout": (httpx.ReadTimeout(KEY, request=request), "timeout", None),
        "connect timeout": (httpx.ConnectTimeout(KEY, request=request), "timeout", None),
        "refused": (httpx.ConnectError(KEY, request=request), "connection", None),
        "reset": (httpx.ReadError(KEY, request=request), "connection", None),
        "not HTTP": (httpx.RemoteProtocolError(KEY, request=request), "connection", None),
        "anything": (RuntimeError(KEY), "connection", None),
        "cut off": (httpx.Response(200, text=f'{{"results": ["{KEY}"'), "invalid_json", 200),
        "empty": (httpx.Response(200), "invalid_json", 200),
        "no content": (httpx.Response(204), "invalid_json", 204),
        "HTML": (httpx.Response(200, html=f"<p>{KEY}"), "invalid_json", 200),
        "not UTF-8": (httpx.Response(200, content=b'{"a": "\xff"}'), "invalid_json", 200),
        "deep": (httpx.Response(200, content=b"[" * 10**6), "invalid_json", 200),
        "a list": (httpx.Response(200, json=[KEY]), "invalid_response", 200),
        "a string": (httpx.Response(200, json=KEY), "invalid_response", 200),
        "null": (httpx.Response(200, text="null"), "invalid_response", 200),
    }


@pytest.mark.parametrize("operation", ["search", "add", "flush"])
@pytest.mark.parametrize("case", answers())
async def test_failures_produce_sanitized_client_exceptions(operation: str, case: str) -> None:
    answer, category, status = answers()[case]
    gateway = FakeGateway(answers={operation: answer})
    client = MemoryGatewayClient(CONFIG, transport=gateway)
    with pytest.raises(MemoryGatewayError) as error:
        await call(client, operation)
    told = error.value
    assert (told.operation, told.category, told.status_code) == (operation, category, status)
    shown = "" if status is None else f" status={status}"
    assert str(told) == f"Memory Gateway {operation} failed: {category}{shown}"
    assert told.__cause__ is None
    assert told.__context__ is None
    assert KEY not in f"{told!r} {told} {vars(told)} {told.args}"
    assert len(gateway.requests) == 1
    await client.aclose()


@pytest.mark.parametrize("results", [None, {}, "x", 5, True, math.pi])
async def test_invalid_response_shapes_of_a_search(results: Any) -> None:
    body = {} if results is math.pi else {"results": results}
    gateway = FakeGateway(answers={"search": httpx.Response(200, json=body)})
    client = MemoryGatewayClient(CONFIG, transport=gateway)
    with pytest.raises(MemoryGatewayError) as error:
        await call(client, "search")
    assert error.value.category == "invalid_response"
    await client.aclose()


@pytest.mark.parametrize("case", answers())
async def test_exception_strings_never_contain_the_configured_key(case: str) -> None:
    gateway = FakeGateway(answers={"search": answers()[case][0]})
    client = MemoryGatewayClient(CONFIG, transport=gateway)
    with pytest.raises(MemoryGatewayError) as error:
        await call(client, "search")
    assert KEY not in str(error.value)
    # What a debugger or a log with the values of variables would show of the client.
    frames = [it for it, _ in traceback.walk_tb(error.tb) if it.f_globals["__name__"] != __name__]
    assert frames
    assert all(KEY not in repr(frame.f_locals) for frame in frames)
    await client.aclose()
