"""The configuration as the program sees it; `config_file` reads it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agent.texts import DEFAULT_INSTRUCTIONS

Mode = Literal["curated", "memory_gateway", "hybrid"]


@dataclass(frozen=True)
class GatewayConfig:
    """The gateway's address, our user and key there, and what to search."""

    base_url: str
    user_id: str
    user_key: str = field(repr=False)
    app_id: str = "default"
    project_id: str = "default"
    scope: tuple[str, ...] = ("current_chat", "resources")
    top_k: int = 8
    timeout_seconds: float = 10.0


@dataclass(frozen=True)
class MemoryConfig:
    """`explicit` says whether the mode was configured or is the default."""

    mode: Mode = "hybrid"
    explicit: bool = False
    gateway: GatewayConfig | None = None


@dataclass(frozen=True)
class ProviderConfig:
    """A server that speaks the OpenAI chat format."""

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 60.0


@dataclass(frozen=True)
class AgentConfig:
    """The whole configuration. `source` is the file it came from, if any."""

    memory: MemoryConfig
    provider: ProviderConfig | None
    workspace: Path
    max_tool_rounds: int = 8
    instructions: str = DEFAULT_INSTRUCTIONS
    source: Path | None = None
