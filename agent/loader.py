"""Builds an agent from its configuration. After a change to the configuration, load it again."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from agent.config import AgentConfig, GatewayConfig
from agent.context import ContextBuilder
from agent.errors import ConfigError
from agent.gateway_client import MemoryGatewayClient
from agent.gateway_service import MemoryGatewayService
from agent.loop import AgentLoop
from agent.memory_service import MemoryService
from agent.memory_store import MemoryStore
from agent.memory_tool import MemoryTool
from agent.openai_provider import OpenAIProvider
from agent.provider import Provider
from agent.session_search import SessionSearchTool
from agent.sessions import SessionStore
from agent.status import status_of
from agent.tools import ToolRegistry

logger = logging.getLogger("agent")


@dataclass(frozen=True)
class EngineLoadResult:
    """An agent that is ready to run. Close it when you are done."""

    config: AgentConfig
    loop: AgentLoop
    tools: ToolRegistry
    sessions: SessionStore
    memory_service: MemoryService | None
    memory_gateway_service: MemoryGatewayService | None
    closing: tuple[MemoryGatewayClient | OpenAIProvider, ...] = ()

    def status(self) -> dict[str, Any]:
        """Mode, curated files and gateway, without secrets; sends no request."""
        return status_of(self.config, self.memory_service)

    async def aclose(self) -> None:
        """Close what `load` opened; a provider that was passed in stays open."""
        for it in self.closing:
            await it.aclose()
        self.sessions.close()


class EngineLoader:
    """`provider` and `gateway_transport` replace what the configuration names."""

    def __init__(
        self,
        config: AgentConfig,
        *,
        provider: Provider | None = None,
        gateway_transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._config = config
        self._provider = provider
        self._gateway_transport = gateway_transport
        self._clock = clock or _epoch_milliseconds

    def load(self) -> EngineLoadResult:
        """Raises ConfigError if the mode needs a gateway and none is configured."""
        config = self._config
        gateway = _active_gateway(config)
        closing: list[MemoryGatewayClient | OpenAIProvider] = []
        service = None
        if gateway is not None:
            client = MemoryGatewayClient(gateway, transport=self._gateway_transport)
            service = MemoryGatewayService(gateway, client)
            closing.append(client)
        provider = self._provider
        if provider is None and config.provider is not None:
            provider = OpenAIProvider(config.provider)
            closing.append(provider)
        sessions = SessionStore(config.workspace / "sessions.db")
        memory = curated_memory(config)
        tools = ToolRegistry()
        if memory is not None:
            tools.register(MemoryTool(memory))
        tools.register(SessionSearchTool(sessions))
        loop = AgentLoop(
            provider=provider,
            sessions=sessions,
            tools=tools,
            context=ContextBuilder(instructions=config.instructions),
            memory=memory,
            gateway=service,
            clock=self._clock,
            max_tool_rounds=config.max_tool_rounds,
        )
        return EngineLoadResult(config, loop, tools, sessions, memory, service, tuple(closing))


def curated_memory(config: AgentConfig) -> MemoryService | None:
    """The curated files of the workspace, in the modes that have them."""
    if config.memory.mode == "memory_gateway":
        return None
    return MemoryService(MemoryStore(config.workspace / "memory"))


def _active_gateway(config: AgentConfig) -> GatewayConfig | None:
    memory = config.memory
    if memory.mode == "curated" or memory.gateway is not None:
        return None if memory.mode == "curated" else memory.gateway
    if memory.explicit or memory.mode == "memory_gateway":
        raise ConfigError(f'memory.gateway: is required when memory.mode is "{memory.mode}"')
    logger.warning(
        "no memory gateway is configured: only curated memory is used. Configure memory.gateway,"
        ' or set memory.mode to "curated" if that is what you want.'
    )
    return None


def _epoch_milliseconds() -> int:
    return time.time_ns() // 1_000_000
