"""A run: its order, what it stores, how it ends, and what a failing gateway must not change."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent import (
    RECALL_LABEL,
    TOOL_LIMIT_TEXT,
    AgentRunResult,
    ConfigError,
    EngineLoader,
    ProviderError,
    ProviderReply,
    ScriptedProvider,
    SessionStoreError,
)
from tests.unit.agent.world import ACTIVE_MODES, KEY, RESULT, World, calls, config

pytestmark = pytest.mark.anyio
Make = Callable[..., World]
SEARCH = ("session_search", {"query": "cat"})


async def test_the_order_of_a_run(make: Make) -> None:
    happened: list[str] = []

    def clock() -> int:
        happened.append("clock")
        return 1_780_000_000_000 + len(happened)

    world = make(replies=[calls(SEARCH), "Miso."], clock=clock)
    world.gateway.happened = happened
    world.provider._happened = happened  # type: ignore[attr-defined]
    result = await world.run(on_answer=lambda text: happened.append(f"answer {text}"))
    assert happened == [
        "clock", "search", "provider", "provider", "answer Miso.", "clock", "add", "flush",
    ]  # fmt: skip
    times = [message["timestamp"] for message in world.gateway.bodies("add")[0]["messages"]]
    assert times == [1_780_000_000_001, 1_780_000_000_006]
    assert result == AgentRunResult(
        session_id=result.session_id, text="Miso.", finish_reason="stop", tool_rounds=1, error=None
    )


async def test_the_answer_is_in_the_session_before_it_is_shown(make: Make) -> None:
    world = make()
    seen: list[Any] = []
    sessions = world.engine.sessions
    result = await world.run(
        session_id="mine", on_answer=lambda _: seen.extend(sessions.history("mine"))
    )
    assert result.session_id == "mine"
    assert seen == [
        {"role": "user", "content": "What is my cat called?"},
        {"role": "assistant", "content": "Miso."},
    ]


async def test_the_history_of_a_session_is_in_the_next_run_and_only_there(make: Make) -> None:
    world = make(replies=["one", "two", "three"])
    first = await world.run("1")
    await world.run("2", session_id=first.session_id)
    assert world.asked()[1:] == [
        {"role": "user", "content": "1"},
        {"role": "assistant", "content": "one"},
        {"role": "user", "content": "2"},
    ]
    other = await world.run("3")
    assert other.session_id != first.session_id
    assert world.asked()[1:] == [{"role": "user", "content": "3"}]


async def test_skills_and_recalled_memory_are_not_kept(make: Make) -> None:
    world = make(results=[RESULT], replies=["one", "two"])
    skill = {"role": "user", "content": "a skill"}
    result = await world.run("1", skill_messages=[skill])
    assert world.asked()[1] == skill
    assert world.asked()[2]["content"].startswith(RECALL_LABEL)
    assert [it["content"] for it in world.engine.sessions.history(result.session_id)] == [
        "1",
        "one",
    ]
    assert world.engine.sessions.search("skill") == []
    await world.run("2", session_id=result.session_id)
    assert skill not in world.asked()


async def test_tool_traffic_and_reasoning_are_hidden_events(make: Make) -> None:
    thought = calls(SEARCH, ("memory", {"action": "add", "content": "x"}), text="Let me look.")
    world = make(
        replies=[
            replace(thought, reasoning="They ask about a cat."),
            ProviderReply(text="Miso.", reasoning="Easy."),
        ]
    )
    result = await world.run()
    events = world.engine.sessions.events(result.session_id)
    assert [(event.name, event.context_visible) for event in events] == [
        ("memory_gateway_recall_succeeded", False),
        ("reasoning", False),
        ("tool_calls", False),
        ("tool_result", False),
        ("tool_result", False),
        ("reasoning", False),
        ("memory_gateway_add_succeeded", False),
        ("memory_gateway_flush_succeeded", False),
    ]
    assert [m["content"] for m in world.engine.sessions.history(result.session_id)] == [
        "What is my cat called?",
        "Miso.",
    ]
    assert world.engine.sessions.search("look") == []


async def test_the_model_gets_the_answers_of_its_tools(make: Make) -> None:
    world = make(replies=[calls(SEARCH, ("nonsense", {}), text="Wait."), "Done."])
    await world.run()
    asked, first, second = world.asked()[-3:]
    assert (asked["role"], asked["content"]) == ("assistant", "Wait.")
    assert [call["id"] for call in asked["tool_calls"]] == ["c0", "c1"]
    assert asked["tool_calls"][0]["function"] == {
        "name": "session_search",
        "arguments": '{"query": "cat"}',
    }
    assert (first["role"], first["tool_call_id"]) == ("tool", "c0")
    assert '"results"' in first["content"]
    assert (second["tool_call_id"], '"success": false' in second["content"]) == ("c1", True)


@pytest.mark.parametrize("arguments", ["{bad", None, [1], 5])
async def test_arguments_of_any_type_are_reported_to_the_model(make: Make, arguments: Any) -> None:
    world = make(replies=[calls(("session_search", arguments)), "Sorry."])
    result = await world.run()
    assert (result.text, result.tool_rounds) == ("Sorry.", 1)
    asked, told = world.asked()[-2:]
    assert asked["tool_calls"][0]["function"]["arguments"] == "{}"
    assert json.loads(told["content"])["error"] == "The arguments must be a JSON object."


async def test_a_note_shows_in_the_prompt_of_the_next_run(make: Make) -> None:
    note = ("memory", {"action": "add", "target": "user", "content": "Has a cat, Miso."})
    world = make("curated", replies=[calls(note), "Noted.", "Miso."])
    first = await world.run("My cat is Miso.")
    assert all("Has a cat" not in world.system(call) for call in (0, 1))
    await world.run(session_id=first.session_id)
    assert "Has a cat, Miso." in world.system()


@pytest.mark.parametrize(
    ("last", "text"),
    [
        ("What I found.", "What I found."),
        (ProviderReply(text="Found.", tool_calls=calls(SEARCH).tool_calls), "Found."),
        ("", TOOL_LIMIT_TEXT),
        (" \n", TOOL_LIMIT_TEXT),
        (calls(SEARCH), TOOL_LIMIT_TEXT),
        (ProviderError("timeout"), TOOL_LIMIT_TEXT),
        (RuntimeError("boom"), TOOL_LIMIT_TEXT),
    ],
)
async def test_after_the_last_round_the_model_is_asked_once_more_without_tools(
    make: Make, last: Any, text: str
) -> None:
    world = make(replies=[calls(SEARCH)] * 3 + [last, "never"], max_tool_rounds=3)
    result = await world.run()
    assert result == AgentRunResult(
        session_id=result.session_id, text=text, finish_reason="tool_limit", tool_rounds=3
    )
    assert [bool(call.tools) for call in world.provider.calls] == [True, True, True, False]
    assert world.gateway.happened[-2:] == ["add", "flush"]
    assert world.gateway.bodies("add")[0]["messages"][1]["content"] == text
    assert world.engine.sessions.history(result.session_id)[-1]["content"] == text


@pytest.mark.parametrize(
    ("failure", "category", "status"),
    [
        (ProviderError("http_error", 500), "http_error", 500),
        (ProviderError("connection"), "connection", None),
        (TimeoutError(), "timeout", None),
        (RuntimeError(f"the request had {KEY}"), "provider_error", None),
    ],
)
@pytest.mark.parametrize("rounds", [0, 1])
async def test_a_failure_of_the_provider_ends_the_run(
    make: Make, failure: Exception, category: str, status: int | None, rounds: int
) -> None:
    world = make(replies=[calls(SEARCH)] * rounds + [failure])
    answers: list[str] = []
    result = await world.run(on_answer=answers.append)
    assert result == AgentRunResult(
        session_id=result.session_id,
        text="",
        finish_reason="error",
        tool_rounds=rounds,
        error=category,
    )
    assert answers == []
    assert "add" not in world.gateway.happened
    assert world.engine.sessions.history(result.session_id) == [
        {"role": "user", "content": "What is my cat called?"}
    ]
    event = world.engine.sessions.events(result.session_id)[-1]
    assert (event.name, event.context_visible) == ("run_failed", False)
    assert event.payload == {"category": category, "status_code": status}


async def test_cancellation_is_passed_on_and_persists_nothing(make: Make) -> None:
    world = make()
    asked = asyncio.Event()

    async def never(*_: Any) -> ProviderReply:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    world.provider.complete = never  # type: ignore[method-assign,assignment]
    task = asyncio.create_task(world.run(session_id="mine"))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.gateway.happened == ["search"]
    roles = [message["role"] for message in world.engine.sessions.history("mine")]
    assert "assistant" not in roles


async def test_cancellation_of_a_recall_is_passed_on(make: Make) -> None:
    asked = asyncio.Event()

    async def never(_: httpx.Request) -> httpx.Response:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    world = make(answers={"search": never})
    task = asyncio.create_task(world.run())
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.provider.calls == []


TROUBLE: list[Any] = [
    httpx.ConnectError("no"), httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("what?"),
    httpx.Response(401), httpx.Response(302, headers={"location": "http://elsewhere"}),
    httpx.Response(500), httpx.Response(204), httpx.Response(200, text="{"),
    httpx.Response(200, json=[]), httpx.Response(200, json={"results": {}}), RuntimeError("odd"),
    OSError("disk"), UnicodeError("text"),
]  # fmt: skip


@pytest.mark.parametrize("mode", ACTIVE_MODES)
@pytest.mark.parametrize("trouble", TROUBLE, ids=repr)
async def test_a_failing_gateway_changes_nothing_else(make: Make, mode: str, trouble: Any) -> None:
    note = ("memory", {"action": "add", "content": "A note."})
    answers = dict.fromkeys(("search", "add", "flush"), trouble)
    well = make(mode, replies=[calls(note), "Miso."], folder="well")
    ill = make(mode, replies=[calls(note), "Miso."], folder="ill", answers=answers)
    assert await well.run(session_id="s") == await ill.run(session_id="s")
    assert well.provider.calls == ill.provider.calls
    assert well.engine.tools.names() == ill.engine.tools.names()
    assert well.engine.sessions.history("s") == ill.engine.sessions.history("s")
    assert well.engine.status() == ill.engine.status()
    assert set(ill.events("s")) >= {"memory_gateway_recall_failed", "tool_result"}


async def test_an_event_that_cannot_be_written_is_an_error_of_the_run(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make()

    def full(*_: Any, **__: Any) -> int:
        raise SessionStoreError("the disk is full")

    monkeypatch.setattr(world.engine.sessions, "append_event", full)
    with pytest.raises(SessionStoreError, match="the disk is full"):
        await world.run()


async def test_without_a_provider_it_loads_and_a_run_raises(tmp_path: Path) -> None:
    engine = EngineLoader(config(tmp_path, "curated")).load()
    with pytest.raises(ConfigError, match=r"^provider: "):
        await engine.loop.run("hello", session_id="mine")
    assert engine.sessions.history("mine") == []
    await engine.aclose()


async def test_odd_prompts_are_answered(make: Make) -> None:
    odd = ["", " ", "\x00", "half \ud800", "🦫" * 10_000, "\u2028", RECALL_LABEL]
    world = make(replies=["ok"] * len(odd))
    for prompt in odd:
        assert (await world.run(prompt)).text == "ok"
        assert world.asked()[-1] == {"role": "user", "content": prompt}
        assert world.gateway.bodies("search")[-1]["query"] == prompt
        assert world.gateway.bodies("add")[-1]["messages"][0]["content"] == prompt


async def test_runs_may_overlap(make: Make) -> None:
    world = make(replies=["ok"] * 10)
    results = await asyncio.gather(*(world.run(f"prompt {at}") for at in range(10)))
    for at, result in enumerate(results):
        history = world.engine.sessions.history(result.session_id)
        assert history[0]["content"] == f"prompt {at}"
        assert len(history) == 2
    assert len(world.gateway.bodies("add")) == 10


async def test_a_scripted_provider_records_what_it_was_asked() -> None:
    provider = ScriptedProvider(["one", ValueError("two")])
    messages = [{"role": "user", "content": "hello"}]
    assert await provider.complete(messages, []) == ProviderReply(text="one")
    messages[0]["content"] = "changed"
    assert provider.calls[0].messages == [{"role": "user", "content": "hello"}]
    assert provider.calls[0].tools == []
    with pytest.raises(ValueError, match="two"):
        await provider.complete(messages, [])
    with pytest.raises(ProviderError, match="script_ended"):
        await provider.complete(messages, [])
    assert len(provider.calls) == 3
