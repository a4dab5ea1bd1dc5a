"""The designs' "Configuration tests", a test for each line.

The first design had `curated` as the default for everything; the later one made a configuration
without a `memory` section an implicit `hybrid`. A section without a mode is still `curated`.
"""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from agent import ConfigError, EngineLoader, GatewayConfig, MemoryConfig, load_config, parse_config
from tests.unit.agent.world import KEY, FakeGateway

GATEWAY: dict[str, Any] = {
    "baseUrl": "http://127.0.0.1:8010",
    "userId": "gateway_test_user",
    "userKey": KEY,
    "appId": "default",
    "projectId": "default",
    "scope": ["current_chat", "resources"],
    "topK": 8,
    "timeoutSeconds": 10,
}
TYPED = GatewayConfig(
    base_url="http://127.0.0.1:8010",
    user_id="gateway_test_user",
    user_key=KEY,
    app_id="default",
    project_id="default",
    scope=("current_chat", "resources"),
    top_k=8,
    timeout_seconds=10.0,
)


def memory(mode: str, **more: Any) -> dict[str, Any]:
    return {"memory": {"mode": mode, "gateway": GATEWAY | more}}


def test_missing_memory_mode_defaults_to_curated_mode() -> None:
    assert parse_config({"memory": {}}).memory == MemoryConfig(mode="curated", explicit=False)


def test_missing_memory_configuration_produces_implicit_hybrid_mode() -> None:
    assert parse_config({}).memory == MemoryConfig(mode="hybrid", explicit=False, gateway=None)


def test_implicit_hybrid_without_credentials_leaves_gateway_disabled_and_curated_enabled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = load_config(env={"MEMORY_AGENT_HOME": str(tmp_path)}, cwd=tmp_path)
    with caplog.at_level(logging.DEBUG):
        engine = EngineLoader(config).load()
    assert engine.memory_gateway_service is None
    assert engine.memory_service is not None
    warnings = [it for it in caplog.records if it.levelno >= logging.WARNING]
    assert [record.name for record in warnings] == ["agent"]
    assert engine.status()["gateway"] == {"state": "degraded"}
    asyncio.run(engine.aclose())


def test_explicit_curated_mode_does_not_require_or_initialize_gateway(tmp_path: Path) -> None:
    for section in ({"mode": "curated"}, {"mode": "curated", "gateway": {"topK": "x"}}):
        config = parse_config({"memory": section, "workspace": str(tmp_path)})
        gateway = FakeGateway()
        engine = EngineLoader(config, gateway_transport=gateway).load()
        assert engine.memory_gateway_service is None
        asyncio.run(engine.aclose())
        assert gateway.requests == []


@pytest.mark.parametrize("mode", ["memory_gateway", "hybrid"])
def test_complete_gateway_configuration_parses_camel_case_and_exposes_typed_values(
    mode: Any,
) -> None:
    expected = MemoryConfig(mode=mode, explicit=True, gateway=TYPED)
    assert parse_config(memory(mode, baseUrl="http://127.0.0.1:8010/")).memory == expected


def test_complete_explicit_hybrid_config_initializes_both_memory_layers(tmp_path: Path) -> None:
    config = parse_config(memory("hybrid") | {"workspace": str(tmp_path)})
    engine = EngineLoader(config).load()
    assert engine.memory_service is not None
    assert engine.memory_gateway_service is not None
    asyncio.run(engine.aclose())


@pytest.mark.parametrize("name", ["baseUrl", "userId", "userKey"])
def test_explicit_hybrid_with_missing_credentials_fails_loading(name: str) -> None:
    gateway = {key: value for key, value in GATEWAY.items() if key != name}
    with pytest.raises(ConfigError, match=rf"memory\.gateway\.{name}"):
        parse_config({"memory": {"mode": "hybrid", "gateway": gateway}})


INVALID: list[tuple[str, dict[str, Any]]] = [
    ("memory.mode", memory("other")),
    *((f"memory.gateway.{it}", memory("hybrid", **{it: ""})) for it in ("userId", "userKey")),
    ("memory.gateway.baseUrl", memory("memory_gateway", baseUrl=" ")),
    ("memory.gateway.scope", memory("hybrid", scope=[])),
    ("memory.gateway.scope", memory("memory_gateway", scope=["current_chat", "elsewhere"])),
    ("memory.gateway.topK", memory("hybrid", topK=0)),
    ("memory.gateway.topK", memory("memory_gateway", topK=101)),
    ("memory.gateway.timeoutSeconds", memory("hybrid", timeoutSeconds=0)),
    ("memory.gateway.timeoutSeconds", memory("memory_gateway", timeoutSeconds=-1)),
]


@pytest.mark.parametrize(("path", "data"), INVALID)
def test_invalid_mode_credentials_scopes_top_k_and_timeout_fail_with_explicit_errors(
    path: str, data: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError) as error:
        parse_config(data)
    assert str(error.value).startswith(f"{path}: must be ")


def test_no_warning_or_exception_text_contains_user_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = []
    with caplog.at_level(logging.DEBUG):
        for _, data in INVALID:
            with pytest.raises(ConfigError) as error:
                parse_config(data)
            texts.append(f"{error.value!r} {error.value} {error.value.__dict__}")
        parse_config({"memory": {"gateway": GATEWAY}})
        config = parse_config({"workspace": str(tmp_path)})
        asyncio.run(EngineLoader(config).load().aclose())
    assert len(caplog.records) >= 2
    assert KEY not in " ".join(texts) + caplog.text
