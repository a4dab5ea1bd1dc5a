"""An agent and the real gateway: recall across sessions, a gateway that dies, deletion."""

import asyncio
import itertools
import json
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent import (
    RECALL_LABEL,
    AgentConfig,
    EngineLoader,
    EngineLoadResult,
    GatewayConfig,
    MemoryConfig,
    ScriptedProvider,
)
from tests.acceptance.agent.gateway import Gateway, running
from tests.conftest import database_url, execute

pytestmark = pytest.mark.anyio
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def real(cluster: str) -> Iterator[Gateway]:
    name = f"test_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    try:
        with running(database_url(cluster, name)) as gateway:
            yield gateway
    finally:
        execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


class Agent:
    """Somebody's agent with a model that says "Noted." to everything."""

    def __init__(self, gateway: Gateway, workspace: Path, **more: Any) -> None:
        self.user_id = f"ada{next(_NUMBERS)}"
        self.key = gateway.new_user(self.user_id)
        self.provider = ScriptedProvider(itertools.repeat("Noted."))
        self._workspace = workspace
        self._more: dict[str, Any] = {"scope": ("all_user_memory",), "timeout_seconds": 60.0} | more
        self._url = gateway.url
        self.engine = self.load()

    def load(self, transport: httpx.AsyncBaseTransport | None = None) -> EngineLoadResult:
        gateway = GatewayConfig(
            base_url=self._url, user_id=self.user_id, user_key=self.key, **self._more
        )
        memory = MemoryConfig(mode="hybrid", explicit=True, gateway=gateway)
        config = AgentConfig(memory=memory, provider=None, workspace=self._workspace)
        return EngineLoader(config, provider=self.provider, gateway_transport=transport).load()

    async def say(self, prompt: str, session_id: str) -> list[str]:
        """The texts that were recalled for this prompt."""
        await self.engine.loop.run(prompt, session_id=session_id)
        messages = [message["content"] for message in self.provider.calls[-1].messages]
        recalled = [text for text in messages if text.startswith(RECALL_LABEL)]
        return [json.loads(line)["text"] for text in recalled for line in text.splitlines()[1:]]

    def events(self, session_id: str) -> list[str]:
        return [event.name for event in self.engine.sessions.events(session_id)]


@pytest.fixture
async def make(real: Gateway, tmp_path: Path) -> AsyncIterator[Callable[..., Agent]]:
    made: list[Agent] = []

    def agent(**more: Any) -> Agent:
        made.append(Agent(real, tmp_path / str(len(made)), **more))
        return made[-1]

    yield agent
    for it in made:
        await it.engine.aclose()


WELL = [
    "memory_gateway_recall_succeeded",
    "memory_gateway_add_succeeded",
    "memory_gateway_flush_succeeded",
]


async def test_what_was_said_in_one_session_is_recalled_in_another(
    make: Callable[..., Agent],
) -> None:
    agent, other = make(), make()
    assert await agent.say("My cat is called Miso.", "one") == []
    recalled = await agent.say("What is my cat called?", "two")
    assert any("Miso" in text for text in recalled)
    assert agent.events("one") == agent.events("two") == WELL
    assert await other.say("What is my cat called?", "one") == []


async def test_the_scope_of_the_configuration_is_kept(make: Callable[..., Agent]) -> None:
    agent = make(scope=("current_chat", "resources"))
    await agent.say("My cat is called Miso.", "one")
    assert await agent.say("What is my cat called?", "two") == []
    assert await agent.say("What is my cat called?", "one")


async def test_a_wrong_key_is_an_event_and_the_run_goes_on(make: Callable[..., Agent]) -> None:
    agent = make()
    agent.key = "uk_" + "x" * 43
    await agent.engine.aclose()
    agent.engine = agent.load()
    assert await agent.say("Hello!", "one") == []
    events = agent.engine.sessions.events("one")
    assert [(event.name, event.payload["status_code"]) for event in events] == [
        ("memory_gateway_recall_failed", 401),
        ("memory_gateway_add_failed", 401),
    ]


class DiesBeforeFlush(httpx.AsyncHTTPTransport):
    """The gateway is killed when it has answered the add and before it hears of the flush."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__()
        self._gateway = gateway

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/flush"):
            await asyncio.to_thread(self._gateway.kill)
        return await super().handle_async_request(request)


async def test_a_gateway_that_dies_in_the_middle_catches_up(
    real: Gateway, make: Callable[..., Agent]
) -> None:
    agent = make()
    await agent.engine.aclose()
    agent.engine = agent.load(DiesBeforeFlush(real))
    await agent.say("My cat is called Miso.", "one")
    assert agent.events("one") == [
        *WELL[:2],
        "memory_gateway_flush_failed",
    ]
    assert (await agent.engine.loop.run("And my dog?", session_id="down")).text == "Noted."
    assert agent.events("down") == ["memory_gateway_recall_failed", "memory_gateway_add_failed"]
    await agent.engine.aclose()
    await asyncio.to_thread(real.start)
    agent.engine = agent.load()
    await agent.say("She is three years old.", "one")
    recalled = await agent.say("What is my cat called?", "two")
    assert sum("User: My cat is called Miso." in text for text in recalled) == 1
    assert not any("dog" in text for text in recalled)


async def test_a_deleted_session_is_not_recalled(real: Gateway, make: Callable[..., Agent]) -> None:
    agent = make()
    await agent.say("My cat is called Miso.", "one")
    real.delete_session(agent.user_id, agent.key, "chat:one")
    assert await agent.say("What is my cat called?", "two") == []
