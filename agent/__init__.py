"""The agent runtime: curated memory files, the memory gateway, or both.

    config = load_config()
    engine = EngineLoader(config).load()
    result = await engine.loop.run("Hello!")

To give an agent of your own the gateway, `MemoryGatewayService` alone is enough.
"""

from agent.config import AgentConfig, GatewayConfig, MemoryConfig, ProviderConfig
from agent.config_file import load_config, parse_config
from agent.context import ContextBuilder
from agent.errors import (
    ConfigError,
    CuratedMemoryError,
    MemoryGatewayError,
    ProviderError,
    SessionStoreError,
)
from agent.gateway_client import MemoryGatewayClient
from agent.gateway_service import (
    GatewayEvent,
    GatewayPersistence,
    GatewayRecall,
    MemoryGatewayService,
)
from agent.loader import EngineLoader, EngineLoadResult
from agent.loop import AgentLoop, AgentRunResult
from agent.memory_service import MemoryService, MemorySnapshot
from agent.memory_store import MemoryStore
from agent.openai_provider import OpenAIProvider
from agent.provider import Provider, ProviderReply, ToolCall
from agent.scripted_provider import ScriptedProvider
from agent.sessions import SessionEvent, SessionHit, SessionStore
from agent.texts import (
    DEFAULT_INSTRUCTIONS,
    RECALL_LABEL,
    TOOL_LIMIT_TEXT,
    UNTRUSTED_MEMORY_RULE,
    Message,
)
from agent.tools import Tool, ToolRegistry

__all__ = [
    "DEFAULT_INSTRUCTIONS",
    "RECALL_LABEL",
    "TOOL_LIMIT_TEXT",
    "UNTRUSTED_MEMORY_RULE",
    "AgentConfig",
    "AgentLoop",
    "AgentRunResult",
    "ConfigError",
    "ContextBuilder",
    "CuratedMemoryError",
    "EngineLoadResult",
    "EngineLoader",
    "GatewayConfig",
    "GatewayEvent",
    "GatewayPersistence",
    "GatewayRecall",
    "MemoryConfig",
    "MemoryGatewayClient",
    "MemoryGatewayError",
    "MemoryGatewayService",
    "MemoryService",
    "MemorySnapshot",
    "MemoryStore",
    "Message",
    "OpenAIProvider",
    "Provider",
    "ProviderConfig",
    "ProviderError",
    "ProviderReply",
    "ScriptedProvider",
    "SessionEvent",
    "SessionHit",
    "SessionStore",
    "SessionStoreError",
    "Tool",
    "ToolCall",
    "ToolRegistry",
    "load_config",
    "parse_config",
]
