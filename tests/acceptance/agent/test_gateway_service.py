"""The designs' "Strategy tests" and "Gateway service tests", a test for each line."""

import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent import GatewayConfig, MemoryGatewayClient, MemoryGatewayService, MemoryStore
from tests.unit.agent.world import KEY, RESULT, FakeGateway, World

pytestmark = pytest.mark.anyio
Make = Callable[..., World]
CONFIG = GatewayConfig(
    base_url="http://127.0.0.1:8010",
    user_id="ada",
    user_key=KEY,
    scope=("resources", "all_user_memory"),
)


def service(gateway: FakeGateway) -> MemoryGatewayService:
    return MemoryGatewayService(CONFIG, MemoryGatewayClient(CONFIG, transport=gateway))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def persist(gateway: FakeGateway) -> Any:
    return await service(gateway).persist_after_run(
        session_id="s1", prompt="  Hi!", answer="Hello.\n", prompt_ms=1, answer_ms=2
    )


async def test_curated_mode_returns_a_frozen_snapshot_and_performs_no_http_requests(
    make: Make,
) -> None:
    world = make("curated")
    assert world.engine.memory_service is not None
    world.engine.memory_service.store.add("memory", "Likes tea.")
    snapshot = world.engine.memory_service.snapshot()
    with pytest.raises(FrozenInstanceError):
        snapshot.memory = ()  # type: ignore[misc]
    await world.run()
    assert snapshot.text in world.system()
    assert world.gateway.requests == []


async def test_search_uses_configured_scopes_and_strips_raw_fields() -> None:
    gateway = FakeGateway(results=[{**RESULT, "raw": {"type": "turn", "note": "backend detail"}}])
    recall = await service(gateway).recall_before_run(session_id="s1", prompt="cat?")
    assert gateway.bodies("search")[0]["scope"] == ["resources", "all_user_memory"]
    [message] = recall.messages
    assert "raw" not in message["content"]
    assert "backend detail" not in message["content"]
    assert set(json.loads(message["content"].splitlines()[1])) <= {
        "id", "session_id", "text", "score", "source_scope", "resource_uri",
    }  # fmt: skip


async def test_empty_search_results_produce_no_reference_message() -> None:
    for results in ([], [{"text": ""}, {"id": "x"}, None]):
        gateway = FakeGateway(results=list(results))
        recall = await service(gateway).recall_before_run(session_id="s1", prompt="cat?")
        assert recall.messages == ()


async def test_persistence_sends_exactly_the_prompt_and_the_answer_then_flushes_once() -> None:
    gateway = FakeGateway()
    await persist(gateway)
    assert gateway.happened == ["add", "flush"]
    [add] = gateway.bodies("add")
    assert [(it["role"], it["content"]) for it in add["messages"]] == [
        ("user", "  Hi!"),
        ("assistant", "Hello.\n"),
    ]
    assert add["session_id"] == gateway.bodies("flush")[0]["session_id"] == "chat:s1"


async def test_add_failure_skips_flush() -> None:
    gateway = FakeGateway(answers={"add": httpx.Response(500)})
    persistence = await persist(gateway)
    assert gateway.happened == ["add"]
    assert (persistence.added, persistence.flushed) == (False, False)


async def test_flush_failure_preserves_the_successful_add_outcome() -> None:
    persistence = await persist(FakeGateway(answers={"flush": httpx.Response(500)}))
    assert (persistence.added, persistence.flushed) == (True, False)
    assert persistence.events[0].name == "memory_gateway_add_succeeded"
    assert persistence.events[1].payload["add_succeeded"] is True


async def test_service_methods_never_read_or_write_curated_files_or_call_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(*_: Any, **__: Any) -> Any:
        raise AssertionError("the curated store was touched")

    for name in ("entries", "add", "replace", "remove"):
        monkeypatch.setattr(MemoryStore, name, touched)
    monkeypatch.chdir(tmp_path)
    gateway = FakeGateway(results=[RESULT])
    await service(gateway).recall_before_run(session_id="s1", prompt="cat?")
    await persist(gateway)
    assert names(tmp_path) == []
