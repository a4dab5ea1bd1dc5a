"""What the loop needs from a model: messages and tools in, a text or tool calls out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.texts import Message


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool that the model requests."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class ProviderReply:
    """With `tool_calls`, the model waits for their results; without, `text` is its answer."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None


class Provider(Protocol):
    """Raises ProviderError if there is no usable reply."""

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]
    ) -> ProviderReply: ...
