"""The page about the agent says what the code does."""

import json
import re
from typing import Any, get_args

import pytest

from agent import GatewayConfig, MemoryGatewayClient, MemoryGatewayService, parse_config
from agent.cli import EXIT_CONFIGURATION, EXIT_FAILED
from agent.wire import Category
from tests.unit.agent.world import GATEWAY, FakeGateway
from tests.unit.docs.pages import Fence, page

PAGE = page("docs/memory-gateway/agent.md")
EXAMPLES = [fence for fence in PAGE.fences if fence.language == "json"]


@pytest.mark.parametrize("fence", EXAMPLES, ids=str)
def test_an_example_is_a_configuration(fence: Fence) -> None:
    config = parse_config(json.loads(fence.text))
    assert config.memory.explicit
    if config.memory.mode != "curated":
        assert config.memory.gateway == GatewayConfig(
            base_url="http://127.0.0.1:8010", user_id="gateway_test_user", user_key="uk_xxx"
        )


def test_there_is_an_example_of_every_mode() -> None:
    modes = [parse_config(json.loads(fence.text)).memory.mode for fence in EXAMPLES]
    assert sorted(modes) == ["curated", "hybrid", "memory_gateway"]


def test_the_defaults_in_the_table_are_those_of_the_code() -> None:
    table = PAGE.table("Field", "Default", "Rule")
    default = dict(zip(table.column("Field"), table.column("Default"), strict=True))
    plain = {"baseUrl": "http://h", "userId": "a", "userKey": "k"}
    parsed = parse_config(
        {
            "memory": {"mode": "hybrid", "gateway": plain},
            "provider": {"baseUrl": "http://h", "model": "m"},
        }
    )
    gateway = parsed.memory.gateway
    assert gateway is not None
    assert parsed.provider is not None
    assert default["`memory.gateway.scope`"] == f"`{json.dumps(list(gateway.scope))}`"
    assert default["`memory.gateway.topK`"] == str(gateway.top_k)
    assert float(default["`memory.gateway.timeoutSeconds`"]) == gateway.timeout_seconds
    assert float(default["`provider.timeoutSeconds`"]) == parsed.provider.timeout_seconds
    assert default["`agent.maxToolRounds`"] == str(parsed.max_tool_rounds)


@pytest.mark.anyio
async def test_the_events_in_the_table_are_those_of_the_code() -> None:
    table = PAGE.table("Event", "Payload")
    shown = {
        name.strip("`"): re.findall(r"`(\w+)`", payload)
        for name, payload in zip(table.column("Event"), table.column("Payload"), strict=True)
    }
    assert shown == {name: list(payload) for name, payload in (await _events()).items()}


async def _events() -> dict[str, Any]:
    events: dict[str, Any] = {}
    for failing in ([], ["search", "add"], ["flush"]):
        gateway = FakeGateway(answers={name: OSError() for name in failing})
        service = MemoryGatewayService(GATEWAY, MemoryGatewayClient(GATEWAY, transport=gateway))
        recall = await service.recall_before_run(session_id="s", prompt="p")
        kept = await service.persist_after_run(
            session_id="s", prompt="p", answer="a", prompt_ms=1, answer_ms=2
        )
        events |= {event.name: event.payload for event in (recall.event, *kept.events)}
    return events


def test_categories_and_exit_codes_are_those_of_the_code() -> None:
    words = {code for _, code in PAGE.code}
    assert set(get_args(Category)) <= words
    codes = PAGE.table("Code", "Means").column("Code")
    assert codes == ["0", str(EXIT_FAILED), str(EXIT_CONFIGURATION)]
