"""The designs' "Agent loop and loader tests", a test for each line."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent import (
    RECALL_LABEL,
    UNTRUSTED_MEMORY_RULE,
    EngineLoader,
    ScriptedProvider,
    parse_config,
)
from tests.unit.agent.world import (
    ACTIVE_MODES,
    CURATED_MODES,
    KEY,
    RESULT,
    FakeGateway,
    World,
    calls,
)

pytestmark = pytest.mark.anyio
Make = Callable[..., World]
NOTE = ("memory", {"action": "add", "content": "curated secret note"})
SEARCH = ("session_search", {"query": "anything"})


def files(workspace: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((workspace / "memory").glob("*"))}


async def note(world: World, text: str) -> None:
    answer = await world.engine.tools.call("memory", {"action": "add", "content": text})
    assert json.loads(answer)["success"] is True


@pytest.mark.parametrize("mode", CURATED_MODES)
async def test_snapshot_injection_and_memory_tool_remain_in_curated_and_hybrid_modes(
    make: Make, mode: str
) -> None:
    world = make(mode)
    await note(world, "Likes tea.")
    await world.run()
    assert "Likes tea." in world.system()
    assert "memory" in [tool["function"]["name"] for tool in world.provider.calls[0].tools]


async def test_gateway_mode_neither_registers_nor_exposes_the_memory_tool(make: Make) -> None:
    world = make("memory_gateway")
    await world.run()
    assert world.engine.tools.names() == ["session_search"]
    exposed = [tool["function"]["name"] for tool in world.provider.calls[0].tools]
    assert exposed == ["session_search"]
    assert world.engine.memory_service is None


@pytest.mark.parametrize("mode", ACTIVE_MODES)
async def test_gateway_search_occurs_before_the_provider_call(make: Make, mode: str) -> None:
    world = make(mode)
    if mode == "hybrid":
        await note(world, "Likes tea.")
    await world.run()
    assert world.gateway.happened[:2] == ["search", "provider"]
    assert ("Likes tea." in world.system()) is (mode == "hybrid")


@pytest.mark.parametrize("mode", ACTIVE_MODES)
async def test_recall_appears_before_the_prompt_and_outside_the_system_prompt(
    make: Make, mode: str
) -> None:
    world = make(mode, results=[RESULT], replies=["one", "two"])
    first = await world.run("first")
    await world.run("second", session_id=first.session_id)
    roles = [(it["role"], str(it["content"]).split("\n")[0]) for it in world.asked()]
    assert roles[1:] == [
        ("user", RECALL_LABEL),
        ("user", "first"),
        ("assistant", "one"),
        ("user", "second"),
    ]
    assert "Miso" not in world.system()


@pytest.mark.parametrize("mode", [*ACTIVE_MODES, "curated"])
async def test_the_system_prompt_has_the_untrusted_rule_only_when_gateway_is_active(
    make: Make, mode: str
) -> None:
    for results in ([RESULT], []):
        world = make(mode, results=results)
        await world.run()
        assert (UNTRUSTED_MEMORY_RULE in world.system()) is (mode != "curated")


@pytest.mark.parametrize("mode", ACTIVE_MODES)
async def test_add_and_flush_happen_after_the_final_response_and_once_each(
    make: Make, mode: str
) -> None:
    world = make(mode, replies=[calls(SEARCH), calls(SEARCH), "Miso."])
    await world.run()
    assert world.gateway.happened == [
        "search", "provider", "provider", "provider", "add", "flush",
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ACTIVE_MODES)
async def test_nothing_but_prompt_and_answer_is_in_the_add_payload(make: Make, mode: str) -> None:
    replies = [
        replace(calls(NOTE, SEARCH), text="interim words", reasoning="private reasoning"),
        "Miso.",
    ]
    world = make(mode, replies=replies, results=[RESULT], instructions="system words")
    skill = {"role": "user", "content": "activated skill"}
    await world.run("What is my cat called?", skill_messages=[skill])
    [body] = world.gateway.bodies("add")
    assert [it["content"] for it in body["messages"]] == ["What is my cat called?", "Miso."]
    sent = json.dumps(body)
    for absent in (
        "interim", "reasoning", "curated secret note", "session_search", "system words",
        "activated skill", "called Miso", RECALL_LABEL, UNTRUSTED_MEMORY_RULE, "tool",
    ):  # fmt: skip
        assert absent not in sent


@pytest.mark.parametrize("mode", ACTIVE_MODES)
@pytest.mark.parametrize("failing", [["search"], ["add"], ["flush"], ["search", "add", "flush"]])
async def test_recall_add_and_flush_failures_do_not_change_the_result_or_curated_behavior(
    make: Make, mode: str, failing: list[str]
) -> None:
    answers: dict[str, Any] = {name: httpx.ConnectError("gone") for name in failing}
    well = make(mode, folder="well", replies=[calls(NOTE), "Miso."])
    ill = make(mode, folder="ill", replies=[calls(NOTE), "Miso."], answers=answers)
    assert await well.run(session_id="s") == await ill.run(session_id="s")
    assert well.system() == ill.system()
    assert well.engine.tools.definitions() == ill.engine.tools.definitions()
    assert well.engine.status() == ill.engine.status()


@pytest.mark.parametrize("mode", ACTIVE_MODES)
@pytest.mark.parametrize("answer", [None, httpx.Response(500, text=KEY), httpx.ReadError(KEY)])
async def test_hidden_audit_events_contain_no_credentials(
    make: Make, mode: str, answer: Any
) -> None:
    answers = {} if answer is None else dict.fromkeys(("search", "add"), answer)
    world = make(mode, answers=answers, results=[{**RESULT, "text": f"echo {KEY}"}])
    result = await world.run()
    events = world.engine.sessions.events(result.session_id)
    ending = "succeeded" if answer is None else "failed"
    assert [event.name for event in events][:2] == [
        f"memory_gateway_recall_{ending}",
        f"memory_gateway_add_{ending}",
    ]
    assert not any(event.context_visible for event in events)
    assert KEY not in repr(events)
    assert KEY not in str(world.asked())


async def test_curated_memory_tool_operations_produce_no_gateway_calls(make: Make) -> None:
    world = make("hybrid")
    for arguments in (
        {"action": "add", "content": "one"},
        {"action": "replace", "old_text": "one", "content": "two"},
        {"action": "remove", "old_text": "two"},
    ):
        assert json.loads(await world.engine.tools.call("memory", arguments))["success"] is True
    assert world.gateway.requests == []


@pytest.mark.parametrize("answers", [{}, {"flush": httpx.Response(500)}])
async def test_gateway_persistence_produces_no_changes_to_the_curated_files(
    make: Make, tmp_path: Path, answers: dict[str, Any]
) -> None:
    world = make("hybrid", answers=answers, results=[RESULT])
    await note(world, "Likes tea.")
    before = files(tmp_path)
    await world.run()
    assert world.gateway.happened[-2:] == ["add", "flush"]
    assert files(tmp_path) == before
    assert set(before) == {"MEMORY.md"}


@pytest.mark.parametrize("data", [{}, {"memory": {}}, {"memory": {"mode": "curated"}}])
async def test_curated_mode_and_degraded_hybrid_perform_no_gateway_calls(
    data: dict[str, Any], tmp_path: Path
) -> None:
    gateway = FakeGateway()
    provider = ScriptedProvider(["ok"])
    engine = EngineLoader(
        parse_config(data | {"workspace": str(tmp_path)}),
        provider=provider,
        gateway_transport=gateway,
    ).load()
    result = await engine.loop.run("hello")
    assert result.text == "ok"
    assert gateway.requests == []
    assert UNTRUSTED_MEMORY_RULE not in provider.calls[0].messages[0]["content"]
    assert engine.sessions.events(result.session_id) == []
    await engine.aclose()


async def test_curated_mode_regression_frozen_snapshot_and_memory_tool(make: Make) -> None:
    world = make("curated", replies=[calls(NOTE), "Noted.", "ok"])
    first = await world.run("remember")
    assert world.system(0) == world.system(1)
    assert "curated secret note" not in world.system(1)
    await world.run("again", session_id=first.session_id)
    assert "curated secret note" in world.system(2)
