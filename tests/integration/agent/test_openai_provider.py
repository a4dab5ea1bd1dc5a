"""The provider against a scripted server that speaks the OpenAI chat format."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agent import (
    AgentConfig,
    ConfigError,
    EngineLoader,
    MemoryConfig,
    OpenAIProvider,
    ProviderConfig,
    ProviderError,
    ProviderReply,
    ToolCall,
    ToolRegistry,
)
from tests.integration.agent import trickle
from tests.integration.agent.trickle import speaking
from tests.integration.contract.stub import Reply, Stub, serving

pytestmark = pytest.mark.anyio
PATH = "/v1/chat/completions"
API_KEY = "sk-canary-5d1f"
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi ☕"}]
TOOL = {"type": "function", "function": {"name": "memory", "parameters": {"type": "object"}}}


def completion(message: dict[str, Any]) -> dict[str, Any]:
    """A completion, validated by the official client."""
    from openai.types.chat import ChatCompletion  # takes a second, in every test process

    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
        ],
    }
    ChatCompletion.model_validate(body)
    return body


def call(number: str | None, name: str, arguments: Any) -> dict[str, Any]:
    it: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return it if number is None else {"id": number, **it}


async def reply(server: Stub, body: Any, tools: Any = ()) -> ProviderReply:
    server.answer("POST", PATH, Reply(body=body))
    config = ProviderConfig(base_url=f"{server.url}/v1", model="m", api_key=API_KEY)
    provider = OpenAIProvider(config)
    try:
        return await provider.complete(MESSAGES, tools)
    finally:
        await provider.aclose()


async def test_the_request(server: Stub) -> None:
    body = completion({"content": "Hello."})
    assert await reply(server, body, [TOOL]) == ProviderReply(text="Hello.")
    await reply(server, body)
    first, second = server.requests
    assert first.json == {"model": "m", "messages": MESSAGES, "tools": [TOOL]}
    assert second.json == {"model": "m", "messages": MESSAGES}
    assert first.headers["authorization"] == f"Bearer {API_KEY}"
    assert first.headers["content-type"] == "application/json"


async def test_its_requests_match_the_official_client(server: Stub) -> None:
    import openai

    await reply(server, completion({"content": "Hello."}), [TOOL])
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=API_KEY) as official:
        await official.chat.completions.create(
            model="m",
            messages=MESSAGES,  # type: ignore[arg-type]
            tools=[TOOL],  # type: ignore[list-item]
        )
    ours, theirs = server.requests
    assert ours.path == theirs.path
    assert ours.json == theirs.json
    assert ours.headers["authorization"] == theirs.headers["authorization"]


async def test_without_a_key_none_is_sent(server: Stub) -> None:
    server.answer("POST", PATH, Reply(body=completion({"content": "x"})))
    provider = OpenAIProvider(ProviderConfig(base_url=f"{server.url}/v1", model="m"))
    await provider.complete(MESSAGES, [])
    await provider.aclose()
    assert "authorization" not in server.requests[0].headers


async def test_a_base_url_with_a_slash_and_a_key_that_is_not_ascii(server: Stub) -> None:
    server.answer("POST", PATH, Reply(body=completion({"content": "x"})))
    config = ProviderConfig(base_url=f"{server.url}/v1/", model="m", api_key="schlüssel…")
    provider = OpenAIProvider(config)
    await provider.complete(MESSAGES, [])
    await provider.aclose()
    sent = server.requests[0].headers["authorization"]
    assert sent.encode("latin-1").decode() == "Bearer schlüssel…"


async def test_tool_calls_and_reasoning(server: Stub) -> None:
    message = {
        "content": None,
        "reasoning_content": "Let me see.",
        "tool_calls": [
            call("a", "memory", '{"action": "add", "content": "tea ☕"}'),
            call("b", "session_search", "{}"),
        ],
    }
    assert await reply(server, completion(message)) == ProviderReply(
        text="",
        tool_calls=(
            ToolCall(id="a", name="memory", arguments={"action": "add", "content": "tea ☕"}),
            ToolCall(id="b", name="session_search", arguments={}),
        ),
        reasoning="Let me see.",
    )


async def test_a_refusal_is_the_answer(server: Stub) -> None:
    refusal = completion({"content": None, "refusal": "I cannot help with that."})
    assert await reply(server, refusal) == ProviderReply(text="I cannot help with that.")
    both = completion({"content": "Hello.", "refusal": "No."})
    assert await reply(server, both) == ProviderReply(text="Hello.")


@pytest.mark.parametrize(
    ("arguments", "understood"),
    [("", {}), (None, {}), ({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1})],
)
async def test_other_ways_to_write_arguments(
    server: Stub, arguments: Any, understood: dict[str, Any]
) -> None:
    message = {"role": "assistant", "tool_calls": [call(None, "memory", arguments)]}
    answer = await reply(server, {"choices": [{"message": message}]})
    [made] = answer.tool_calls
    assert made.arguments == understood
    assert made.id


@pytest.mark.parametrize("arguments", ["{", "[1]", "nonsense", "null", 5, [1]])
async def test_arguments_that_are_not_an_object_are_reported_to_the_model(
    server: Stub, arguments: Any, tmp_path: Any
) -> None:
    message = {"role": "assistant", "tool_calls": [call("a", "session_search", arguments)]}
    server.answer(
        "POST",
        PATH,
        Reply(body={"choices": [{"message": message}]}),
        Reply(body=completion({"content": "Sorry."})),
    )
    config = AgentConfig(
        memory=MemoryConfig(mode="curated"),
        provider=ProviderConfig(base_url=f"{server.url}/v1", model="m"),
        workspace=tmp_path,
    )
    engine = EngineLoader(config).load()
    result = await engine.loop.run("hi")
    await engine.aclose()
    assert result.text == "Sorry."
    told = server.requests[-1].json["messages"][-1]
    assert json.loads(told["content"]) == {
        "success": False,
        "error": "The arguments must be a JSON object.",
    }


class Ping:
    """A tool that needs no arguments."""

    name = "ping"
    description = "Answers."
    parameters: Mapping[str, Any] = {"type": "object", "properties": {}}

    def __init__(self) -> None:
        self.runs = 0

    async def run(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        self.runs += 1
        return {"success": True, "got": dict(arguments)}


@pytest.mark.parametrize(
    ("arguments", "runs"), [("{bad", 0), ("[1]", 0), ('"x"', 0), ("{}", 1), ("", 1), (None, 1)]
)
async def test_a_tool_without_arguments_does_not_run_with_unreadable_ones(
    server: Stub, arguments: Any, runs: int
) -> None:
    body = {"choices": [{"message": {"tool_calls": [call("a", "ping", arguments)]}}]}
    [made] = (await reply(server, body)).tool_calls
    ping, tools = Ping(), ToolRegistry()
    tools.register(ping)
    told = json.loads(await tools.call(made.name, made.arguments))
    assert (ping.runs, told["success"]) == (runs, bool(runs))


async def test_a_text_in_parts(server: Stub) -> None:
    parts = [{"type": "text", "text": "Hel"}, {"type": "image"}, {"type": "text", "text": "lo."}]
    body = {"choices": [{"message": {"content": parts, "reasoning": "r"}}]}
    assert await reply(server, body) == ProviderReply(text="Hello.", reasoning="r")


@pytest.mark.parametrize(
    "body",
    [{}, {"choices": []}, {"choices": None}, {"choices": ["x"]}, {"choices": [{}]},
     {"choices": [{"message": "x"}]}, {"error": {"message": API_KEY}}, [1]],
)  # fmt: skip
async def test_malformed_completions(server: Stub, body: Any) -> None:
    with pytest.raises(ProviderError) as error:
        await reply(server, body)
    assert (error.value.category, error.value.status_code) == ("invalid_response", 200)
    assert str(error.value) == "Provider failed: invalid_response status=200"


@pytest.mark.parametrize(
    ("answer", "category", "status"),
    [
        (Reply(401, {"error": API_KEY}), "unauthorized", 401),
        (Reply(403), "unauthorized", 403),
        (Reply(429), "http_error", 429),
        (Reply(500, API_KEY.encode()), "http_error", 500),
        (Reply(302, headers={"Location": "/elsewhere"}), "http_error", 302),
        (Reply(200, b"{"), "invalid_json", 200),
        (Reply(hang_up=True), "connection", None),
        (Reply(200, {"choices": []}, cut=True), "connection", None),
    ],
)
async def test_failures(server: Stub, answer: Reply, category: str, status: int | None) -> None:
    server.answer("POST", PATH, answer)
    config = ProviderConfig(base_url=f"{server.url}/v1", model="m", api_key=API_KEY)
    provider = OpenAIProvider(config)
    with pytest.raises(ProviderError) as error:
        await provider.complete(MESSAGES, [])
    await provider.aclose()
    assert (error.value.category, error.value.status_code) == (category, status)
    assert error.value.__cause__ is None
    assert error.value.__context__ is None
    assert API_KEY not in f"{error.value!r} {error.value}"
    assert len(server.requests) == 1


async def test_a_server_that_trickles_is_a_timeout() -> None:
    async with speaking(trickle.trickle) as url:
        provider = OpenAIProvider(ProviderConfig(base_url=url, model="m", timeout_seconds=0.3))
        with pytest.raises(ProviderError, match="timeout"):
            await provider.complete(MESSAGES, [])
        await provider.aclose()


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are often reached through one; the gateway never is."""
    async with serving() as proxy:
        proxy.answer(
            "POST", "http://model.example/v1/chat/completions",
            Reply(body=completion({"content": "Hello."})),
        )  # fmt: skip
        for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        provider = OpenAIProvider(ProviderConfig(base_url="http://model.example/v1", model="m"))
        assert (await provider.complete(MESSAGES, [])).text == "Hello."
        await provider.aclose()


@pytest.mark.parametrize("key", ["sk-canary\n", "sk-canary\ud800", "sk canary", "sk-canary\0"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(key: str) -> None:
    with pytest.raises(ConfigError) as error:
        OpenAIProvider(ProviderConfig(base_url="http://x", model="m", api_key=key))
    assert "canary" not in str(error.value)
    assert error.value.__context__ is None
