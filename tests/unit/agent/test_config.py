"""Valid configurations, and invalid ones, which are reported with the place and the rule."""

import json
import logging
import math
from pathlib import Path
from typing import Any

import pytest

from agent import (
    DEFAULT_INSTRUCTIONS,
    AgentConfig,
    ConfigError,
    GatewayConfig,
    MemoryConfig,
    ProviderConfig,
    parse_config,
)
from tests.unit.agent.world import KEY

SMALLEST = {"baseUrl": "http://127.0.0.1:8010", "userId": "ada", "userKey": KEY}
COMPLETE = {
    **SMALLEST,
    "appId": "shop",
    "projectId": "winter",
    "scope": ["resources", "all_user_memory", "resources"],
    "topK": 100,
    "timeoutSeconds": 2,
}


def memory(mode: Any, gateway: Any) -> dict[str, Any]:
    return {"memory": {"mode": mode, "gateway": gateway}}


def gateway_with(**more: Any) -> dict[str, Any]:
    return memory("hybrid", {**SMALLEST, **more})


@pytest.mark.parametrize("data", [{}, {"memory": None}])
def test_without_a_memory_section_the_mode_is_hybrid_and_not_explicit(data: Any) -> None:
    assert parse_config(data).memory == MemoryConfig(mode="hybrid", explicit=False, gateway=None)


def test_an_empty_configuration_has_the_defaults() -> None:
    assert parse_config({}) == AgentConfig(
        memory=MemoryConfig(),
        provider=None,
        workspace=Path("~/.beaver/workspace").expanduser(),
        max_tool_rounds=8,
        instructions=DEFAULT_INSTRUCTIONS,
        source=None,
    )


@pytest.mark.parametrize("gateway", [SMALLEST, {"topK": "nonsense"}, 5])
def test_without_a_mode_it_is_curated_and_a_gateway_block_is_ignored_with_one_warning(
    gateway: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        parsed = parse_config({"memory": {"gateway": gateway}})
    assert parsed.memory == MemoryConfig(mode="curated", explicit=False, gateway=None)
    [record] = caplog.records
    assert (record.name, record.levelname) == ("agent", "WARNING")
    assert "memory.gateway" in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize("section", [{}, {"gateway": None}])
def test_without_a_mode_and_a_gateway_block_nothing_is_warned(
    section: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert parse_config({"memory": section}).memory.mode == "curated"
    assert caplog.records == []


@pytest.mark.parametrize("gateway", [None, SMALLEST, {"topK": "nonsense"}, 5])
def test_curated_ignores_a_gateway_block_and_does_not_check_it(
    gateway: Any, caplog: pytest.LogCaptureFixture
) -> None:
    parsed = parse_config(memory("curated", gateway))
    assert parsed.memory == MemoryConfig(mode="curated", explicit=True, gateway=None)
    assert caplog.records == []


@pytest.mark.parametrize("mode", ["hybrid", "memory_gateway"])
def test_a_complete_gateway_block(mode: Any) -> None:
    parsed = parse_config(memory(mode, COMPLETE))
    assert parsed.memory == MemoryConfig(
        mode=mode,
        explicit=True,
        gateway=GatewayConfig(
            base_url="http://127.0.0.1:8010",
            user_id="ada",
            user_key=KEY,
            app_id="shop",
            project_id="winter",
            scope=("resources", "all_user_memory"),
            top_k=100,
            timeout_seconds=2.0,
        ),
    )
    assert parsed.memory.gateway is not None
    assert isinstance(parsed.memory.gateway.timeout_seconds, float)


def test_what_a_gateway_block_leaves_out_has_defaults() -> None:
    assert parse_config(gateway_with()).memory.gateway == GatewayConfig(
        base_url="http://127.0.0.1:8010",
        user_id="ada",
        user_key=KEY,
        app_id="default",
        project_id="default",
        scope=("current_chat", "resources"),
        top_k=8,
        timeout_seconds=10.0,
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("http://localhost:8010", "http://localhost:8010"),
        ("http://localhost:8010///", "http://localhost:8010"),
        ("https://memory.example/team/a/", "https://memory.example/team/a"),
        ("http://[::1]:8010", "http://[::1]:8010"),
        ("http://büro.example/@here", "http://büro.example/@here"),
    ],
)
def test_base_urls(given: str, kept: str) -> None:
    parsed = parse_config(gateway_with(baseUrl=given)).memory.gateway
    assert parsed is not None
    assert parsed.base_url == kept


BLANKS: list[Any] = [None, "", "   ", "\n\t", 5, True, ["x"], {}]
WRONG: dict[str, list[Any]] = {
    "baseUrl": [
        *BLANKS,
        "localhost:8010",
        "ftp://localhost",
        "unix:/run/gateway.sock",
        "file:///etc/passwd",
        "http://",
        "http:///memories",
        "http://ada:secret@localhost",
        "http://:secret@localhost",
        "http://ada@localhost",
        "http://localhost?",
        "http://localhost/?user_key=x",
        "http://localhost/#",
        "http://localhost/#top",
        "http://local host",
        "http://localhost\n",
        " http://localhost",
        "http://localhost:99999",
        "http://localhost:0",
        "http://localhost:x",
        "http://[::1",
        "http://local\\host",
    ],
    "userId": BLANKS,
    "userKey": BLANKS,
    "appId": BLANKS,
    "projectId": BLANKS,
    "scope": [
        None, [], "current_chat", ["current_chat", "everything"], [None], [["resources"]], {}, 5,
        {"resources": True}, ["Resources"],
    ],
    "topK": [None, 0, 101, -1, 8.0, 2.5, "8", True, [8], 10**400],
    "timeoutSeconds": [
        None, 0, 0.0, -1, "10", True, False, math.nan, math.inf, -math.inf, [10], 10**400,
    ],
}  # fmt: skip


@pytest.mark.parametrize("mode", ["hybrid", "memory_gateway"])
@pytest.mark.parametrize("name", WRONG)
def test_an_invalid_value_is_reported_by_place_without_the_value(name: str, mode: str) -> None:
    for value in WRONG[name]:
        with pytest.raises(ConfigError) as error:
            parse_config(memory(mode, {**SMALLEST, name: value}))
        text = str(error.value)
        assert text.startswith(f"memory.gateway.{name}: must be "), value
        assert KEY not in text
        assert "secret" not in text


@pytest.mark.parametrize("name", ["baseUrl", "userId", "userKey"])
def test_a_missing_credential_is_reported(name: str) -> None:
    gateway = {key: value for key, value in SMALLEST.items() if key != name}
    with pytest.raises(ConfigError, match=rf"^memory\.gateway\.{name}: "):
        parse_config(memory("hybrid", gateway))


@pytest.mark.parametrize("mode", ["hybrid", "memory_gateway"])
def test_a_gateway_mode_without_a_gateway_block_is_reported(mode: str) -> None:
    for section in ({"mode": mode}, {"mode": mode, "gateway": None}):
        with pytest.raises(ConfigError, match=r"^memory\.gateway: is required"):
            parse_config({"memory": section})


@pytest.mark.parametrize("mode", ["gateway", "HYBRID", "", None, 1, True, ["hybrid"], {}])
def test_an_unknown_mode_is_reported(mode: Any) -> None:
    with pytest.raises(ConfigError, match=r"^memory\.mode: must be one of curated, memory_gat"):
        parse_config(memory(mode, SMALLEST))


@pytest.mark.parametrize("wrong", [[], "hybrid", 5, True, [{}]])
def test_a_section_that_is_not_an_object_is_reported(wrong: Any) -> None:
    for path, data in {
        "configuration": wrong,
        "memory": {"memory": wrong},
        "provider": {"provider": wrong},
        "agent": {"agent": wrong},
        "memory.gateway": memory("hybrid", wrong),
    }.items():
        with pytest.raises(ConfigError) as error:
            parse_config(data)
        assert str(error.value) == f"{path}: must be a JSON object"


def test_the_provider() -> None:
    section = {"baseUrl": "http://127.0.0.1:11434/v1/", "model": "m"}
    assert parse_config({"provider": section}).provider == ProviderConfig(
        base_url="http://127.0.0.1:11434/v1", model="m", api_key=None, timeout_seconds=60.0
    )
    more = {**section, "apiKey": "sk-…", "timeoutSeconds": 0.5}
    assert parse_config({"provider": more}).provider == ProviderConfig(
        base_url="http://127.0.0.1:11434/v1", model="m", api_key="sk-…", timeout_seconds=0.5
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("baseUrl", None), ("baseUrl", "x"), ("model", ""), ("model", 5), ("apiKey", ""),
        ("apiKey", 5), ("apiKey", "sk-\nx"), ("apiKey", "sk-\ud800"), ("apiKey", "two words"),
        ("timeoutSeconds", 0),
    ],
)  # fmt: skip
def test_an_invalid_provider_is_reported(name: str, value: Any) -> None:
    section = {"baseUrl": "http://h/v1", "model": "m", name: value}
    with pytest.raises(ConfigError) as error:
        parse_config({"provider": section})
    assert str(error.value).startswith(f"provider.{name}: must be ")
    assert "sk-" not in str(error.value)


def test_the_agent_section_and_the_workspace() -> None:
    data = {"workspace": "~/elsewhere", "agent": {"maxToolRounds": 3, "instructions": "Be brief."}}
    parsed = parse_config(data)
    assert parsed.workspace == Path.home() / "elsewhere"
    assert (parsed.max_tool_rounds, parsed.instructions) == (3, "Be brief.")


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"agent": {"maxToolRounds": 0}}, "agent.maxToolRounds"),
        ({"agent": {"maxToolRounds": True}}, "agent.maxToolRounds"),
        ({"agent": {"maxToolRounds": "8"}}, "agent.maxToolRounds"),
        ({"agent": {"instructions": " "}}, "agent.instructions"),
        ({"workspace": ""}, "workspace"),
        ({"workspace": 5}, "workspace"),
        ({"workspace": "~nobody-has-this-name/x"}, "workspace"),
        ({"workspace": "a\0b"}, "workspace"),
    ],
)
def test_other_invalid_values_are_reported(data: Any, path: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_config(data)
    assert str(error.value).startswith(f"{path}: must be ")


def test_unknown_fields_are_ignored() -> None:
    data = {"tools": {"x": 1}, **gateway_with(color="green")}
    assert parse_config(data) == parse_config(gateway_with())


def test_secrets_are_not_in_a_repr() -> None:
    parsed = parse_config(
        {**gateway_with(), "provider": {"baseUrl": "http://h", "model": "m", "apiKey": f"sk-{KEY}"}}
    )
    assert KEY not in f"{parsed!r} {parsed} {parsed.memory.gateway!r} {parsed.provider!r}"
    assert json.dumps(str(parsed)).count("ada") == 1
