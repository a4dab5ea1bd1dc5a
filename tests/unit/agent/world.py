"""An in-memory gateway and agents that use it, for most tests of the agent."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from agent import (
    AgentConfig,
    EngineLoader,
    EngineLoadResult,
    GatewayConfig,
    MemoryConfig,
    ProviderReply,
    ScriptedProvider,
    ToolCall,
)
from agent.config import Mode

KEY = "uk_canary-7Hq2_do-not-print"
GATEWAY = GatewayConfig(base_url="http://gateway.test:8010", user_id="ada", user_key=KEY)
ACTIVE_MODES: tuple[Mode, ...] = ("memory_gateway", "hybrid")
CURATED_MODES: tuple[Mode, ...] = ("curated", "hybrid")

Answer = httpx.Response | Exception | Callable[[httpx.Request], Awaitable[httpx.Response]]
RESULT = {
    "id": "5f0c7c7e-0000-5000-8000-000000000001",
    "session_id": "chat:earlier",
    "text": "User: My cat is called Miso.",
    "score": 0.8,
    "source_scope": "current_chat",
    "resource_uri": None,
    "raw": {"type": "turn", "created_at": "2026-01-01T00:00:00Z"},
}


@dataclass
class FakeGateway(httpx.AsyncBaseTransport):
    """Answers like the real one, unless `answers` overrides an operation."""

    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    happened: list[str] = field(default_factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        operation = request.url.path.rpartition("/")[2]
        self.happened.append(operation)
        answer = self.answers.get(operation)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            return answer
        if answer is not None:
            return await answer(request)
        return httpx.Response(200, json=self._usual(operation))

    def _usual(self, operation: str) -> dict[str, Any]:
        if operation == "search":
            return {"results": self.results}
        return {"status": "accumulated" if operation == "add" else "extracted"}

    def bodies(self, operation: str) -> list[dict[str, Any]]:
        """What was sent, in order."""
        return [
            json.loads(request.content)
            for request in self.requests
            if request.url.path.endswith(f"/memories/{operation}")
        ]


class Watched(ScriptedProvider):
    """Records its calls in `happened`."""

    def __init__(
        self, replies: Iterable[ProviderReply | str | Exception], happened: list[str]
    ) -> None:
        super().__init__(replies)
        self._happened = happened

    async def complete(self, messages: Any, tools: Any) -> ProviderReply:
        self._happened.append("provider")
        return await super().complete(messages, tools)


@dataclass
class World:
    """An agent, its gateway and its model."""

    engine: EngineLoadResult
    gateway: FakeGateway
    provider: ScriptedProvider

    async def run(self, prompt: str = "What is my cat called?", **more: Any) -> Any:
        return await self.engine.loop.run(prompt, **more)

    def asked(self, call: int = -1) -> list[dict[str, Any]]:
        """The messages that the model got."""
        return self.provider.calls[call].messages

    def system(self, call: int = -1) -> str:
        first = self.asked(call)[0]
        assert first["role"] == "system"
        return str(first["content"])

    def events(self, session_id: str) -> dict[str, dict[str, Any]]:
        """The payloads of the events by their names."""
        return {event.name: event.payload for event in self.engine.sessions.events(session_id)}


def config(
    workspace: Path, mode: Mode = "hybrid", gateway: GatewayConfig | None = GATEWAY, **more: Any
) -> AgentConfig:
    memory = MemoryConfig(mode=mode, explicit=True, gateway=None if mode == "curated" else gateway)
    return AgentConfig(memory=memory, provider=None, workspace=workspace, **more)


def world(
    workspace: Path,
    mode: Mode = "hybrid",
    replies: Iterable[ProviderReply | str | Exception] = ("Miso.",),
    answers: Mapping[str, Answer] | None = None,
    results: Iterable[Any] = (),
    *,
    clock: Callable[[], int] | None = None,
    **more: Any,
) -> World:
    gateway = FakeGateway(answers=dict(answers or {}), results=list(results))
    provider = Watched(replies, gateway.happened)
    engine = EngineLoader(
        config(workspace, mode, **more), provider=provider, gateway_transport=gateway, clock=clock
    ).load()
    return World(engine, gateway, provider)


def calls(*wanted: tuple[str, dict[str, Any]], **more: Any) -> ProviderReply:
    """A reply with tool calls."""
    some = [ToolCall(id=f"c{at}", name=name, arguments=it) for at, (name, it) in enumerate(wanted)]
    return ProviderReply(tool_calls=tuple(some), **more)
