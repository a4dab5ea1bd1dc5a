"""A model behind any server that speaks the OpenAI chat format."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from agent.arguments import InvalidArguments
from agent.config import ProviderConfig
from agent.errors import ConfigError, ProviderError
from agent.provider import ProviderReply, ToolCall
from agent.section import fits_header
from agent.texts import Message
from agent.wire import Wire


class OpenAIProvider:
    """`POST {base_url}/chat/completions`, without streaming or retries."""

    def __init__(
        self, config: ProviderConfig, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        headers = {}
        if config.api_key is not None:
            if not fits_header(config.api_key):
                raise ConfigError("provider.apiKey: must be printable characters without spaces")
            headers["Authorization"] = f"Bearer {config.api_key}"
        self._model = config.model
        self._url = f"{config.base_url.rstrip('/')}/chat/completions"
        # Models are often behind a company's proxy, unlike the gateway next door.
        self._wire = Wire(config.timeout_seconds, transport, headers=headers, proxies=True)

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]
    ) -> ProviderReply:
        body: dict[str, Any] = {"model": self._model, "messages": list(messages)}
        if tools:
            body["tools"] = list(tools)
        outcome = await self._wire.post(self._url, body)
        if outcome.category is not None:
            raise ProviderError(outcome.category, outcome.status_code)
        message = _message(outcome.body)
        if message is None:
            raise ProviderError("invalid_response", outcome.status_code)
        return ProviderReply(
            text=_text(message.get("content")) or _text(message.get("refusal")),
            tool_calls=_tool_calls(message.get("tool_calls")),
            reasoning=_reasoning(message),
        )

    async def aclose(self) -> None:
        await self._wire.aclose()


def _message(body: Mapping[str, Any]) -> dict[str, Any] | None:
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else None


def _text(content: Any) -> str:
    """A string, or the text parts of a list of parts."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _reasoning(message: Mapping[str, Any]) -> str | None:
    """Servers use different names for it."""
    found = (message.get(name) for name in ("reasoning_content", "reasoning"))
    return next((text for text in found if isinstance(text, str) and text), None)


def _tool_calls(calls: Any) -> tuple[ToolCall, ...]:
    found = []
    for at, call in enumerate(calls if isinstance(calls, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(name, str) and isinstance(function, dict):
            number = call.get("id") or f"call_{at}"
            found.append(ToolCall(str(number), name, _arguments(function.get("arguments"))))
    return tuple(found)


def _arguments(text: Any) -> dict[str, Any]:
    """Servers send JSON as a string; some send the object, or nothing when there are none."""
    if text in (None, ""):
        return {}
    try:
        arguments = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        arguments = None
    return arguments if isinstance(arguments, dict) else InvalidArguments()
