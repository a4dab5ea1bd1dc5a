"""What each mode switches on, and what `status` reports."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from agent import (
    AgentConfig,
    ConfigError,
    EngineLoader,
    EngineLoadResult,
    MemoryConfig,
    MemoryGatewayService,
    MemoryService,
    ScriptedProvider,
    parse_config,
)
from tests.unit.agent.world import GATEWAY, KEY, FakeGateway

LIMITS = {"memory": 4000, "user": 2000}


def load(memory: MemoryConfig, workspace: Path, **more: Any) -> EngineLoadResult:
    config = AgentConfig(memory=memory, provider=None, workspace=workspace)
    return EngineLoader(config, **more).load()


def empty_files() -> dict[str, Any]:
    return {name: {"entries": 0, "chars": 0, "limit": limit} for name, limit in LIMITS.items()}


ACTIVE = {
    "state": "active",
    "baseUrl": "http://gateway.test:8010",
    "userId": "ada",
    "appId": "default",
    "projectId": "default",
    "scope": ["current_chat", "resources"],
    "topK": 8,
    "timeoutSeconds": 10.0,
}
MODES: dict[str, tuple[MemoryConfig, bool, bool, str]] = {
    "implicit hybrid": (MemoryConfig(), True, False, "degraded"),
    "implicit curated": (MemoryConfig(mode="curated"), True, False, "disabled"),
    "curated": (MemoryConfig(mode="curated", explicit=True), True, False, "disabled"),
    "hybrid": (MemoryConfig(mode="hybrid", explicit=True, gateway=GATEWAY), True, True, "active"),
    "memory_gateway": (
        MemoryConfig(mode="memory_gateway", explicit=True, gateway=GATEWAY),
        False,
        True,
        "active",
    ),
}


@pytest.mark.parametrize(("memory", "curated", "active", "state"), MODES.values(), ids=MODES)
def test_each_mode_switches_on_its_layers(
    memory: MemoryConfig, curated: bool, active: bool, state: str, tmp_path: Path
) -> None:
    engine = load(memory, tmp_path)
    assert isinstance(engine.memory_service, MemoryService) is curated
    assert isinstance(engine.memory_gateway_service, MemoryGatewayService) is active
    assert engine.tools.names() == (["memory"] if curated else []) + ["session_search"]
    assert engine.status() == {
        "mode": memory.mode,
        "explicit": memory.explicit,
        "curated": {"enabled": True, **empty_files()} if curated else {"enabled": False},
        "gateway": ACTIVE if active else {"state": state},
    }
    assert KEY not in json.dumps(engine.status())
    assert not (tmp_path / "memory").exists()
    assert (tmp_path / "sessions.db").exists()
    asyncio.run(engine.aclose())


def test_status_counts_the_entries(tmp_path: Path) -> None:
    engine = load(MemoryConfig(mode="curated"), tmp_path)
    assert engine.memory_service is not None
    for entry in ("one", "two"):
        engine.memory_service.store.add("memory", entry)
    status = engine.status()
    assert status["curated"]["memory"] == {"entries": 2, "chars": 9, "limit": 4000}
    assert status["curated"]["user"] == {"entries": 0, "chars": 0, "limit": 2000}
    asyncio.run(engine.aclose())


def test_only_the_degraded_mode_warns_and_it_warns_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for memory, *_, state in MODES.values():
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            engine = load(memory, tmp_path)
        asyncio.run(engine.aclose())
        assert [record.name for record in caplog.records] == ["agent"] * (state == "degraded")


@pytest.mark.parametrize(
    "memory",
    [
        MemoryConfig(mode="hybrid", explicit=True),
        MemoryConfig(mode="memory_gateway", explicit=True),
        MemoryConfig(mode="memory_gateway", explicit=False),
    ],
)
def test_a_mode_that_needs_a_gateway_does_not_load_without_one(
    memory: MemoryConfig, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"^memory\.gateway: is required"):
        load(memory, tmp_path / "workspace")
    assert not (tmp_path / "workspace").exists()


def test_curated_mode_does_not_use_a_configured_gateway(tmp_path: Path) -> None:
    gateway = FakeGateway()
    engine = load(
        MemoryConfig(mode="curated", explicit=True, gateway=GATEWAY),
        tmp_path,
        provider=ScriptedProvider(["ok"]),
        gateway_transport=gateway,
    )
    assert engine.status()["gateway"] == {"state": "disabled"}

    async def run() -> None:
        await engine.loop.run("hello")
        await engine.aclose()

    asyncio.run(run())
    assert gateway.requests == []


def test_several_event_loops_can_run_the_same_agent(tmp_path: Path) -> None:
    gateway = FakeGateway()
    memory = MemoryConfig(mode="hybrid", explicit=True, gateway=GATEWAY)
    provider = ScriptedProvider(["one", "two"])
    engine = load(memory, tmp_path, provider=provider, gateway_transport=gateway)
    texts = [asyncio.run(engine.loop.run("hello")).text for _ in range(2)]
    asyncio.run(engine.aclose())
    assert texts == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("SSL_CERT_FILE", "/nowhere/ca.pem"), ("HTTPS_PROXY", "gopher://user:secret@h")],
)
def test_an_unusable_environment_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    config = parse_config(
        {"workspace": str(tmp_path), "provider": {"baseUrl": "http://h", "model": "m"}}
    )
    with pytest.raises(ConfigError, match=r"^environment: ") as error:
        EngineLoader(config).load()
    assert error.value.__context__ is None


def test_the_instructions_are_those_of_the_configuration(tmp_path: Path) -> None:
    config = parse_config({"workspace": str(tmp_path), "agent": {"instructions": "Be brief."}})
    provider = ScriptedProvider(["ok"])
    engine = EngineLoader(config, provider=provider).load()
    asyncio.run(engine.loop.run("hello"))
    asyncio.run(engine.aclose())
    assert provider.calls[0].messages[0]["content"] == "Be brief."
