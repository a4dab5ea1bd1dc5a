"""The model and its tools take turns until there is an answer."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agent.errors import ProviderError
from agent.provider import Provider, ProviderReply, ToolCall
from agent.texts import TOOL_LIMIT_TEXT, Message
from agent.tools import ToolRegistry

FinishReason = Literal["stop", "tool_limit", "error"]
Record = Callable[[str, Mapping[str, Any]], Awaitable[None]]

logger = logging.getLogger("agent")


@dataclass(frozen=True)
class TurnEnd:
    """How the turn ended; `failure` is set when `finish_reason` is `error`."""

    text: str
    finish_reason: FinishReason
    tool_rounds: int
    failure: ProviderError | None = None


class Turn:
    """`record` stores what is not part of the conversation: tool calls and reasoning."""

    def __init__(
        self, provider: Provider, tools: ToolRegistry, messages: list[Message], record: Record
    ) -> None:
        self._provider = provider
        self._tools = tools
        self._messages = messages
        self._record = record

    async def converse(self, max_rounds: int) -> TurnEnd:
        """Ask the model, run the tools it calls, and ask again, at most `max_rounds` times."""
        for rounds in range(max_rounds):
            reply = await self._ask(self._tools.definitions())
            if isinstance(reply, ProviderError):
                return TurnEnd("", "error", rounds, reply)
            if not reply.tool_calls:
                return TurnEnd(reply.text, "stop", rounds)
            await self._use_tools(reply)
        # Once more without tools: the model can say what it found so far.
        reply = await self._ask([])
        text = "" if isinstance(reply, ProviderError) else reply.text
        return TurnEnd(text if text.strip() else TOOL_LIMIT_TEXT, "tool_limit", max_rounds)

    async def _ask(self, tools: list[dict[str, Any]]) -> ProviderReply | ProviderError:
        try:
            reply = await self._provider.complete(self._messages, tools)
        except ProviderError as error:
            return error
        except TimeoutError:
            return ProviderError("timeout")
        except Exception as error:  # noqa: BLE001 - a third-party provider may raise anything
            # Its text is not logged, because it may contain the request.
            logger.warning("the provider raised %s", type(error).__name__)
            return ProviderError("provider_error")
        if reply.reasoning:
            await self._record("reasoning", {"text": reply.reasoning})
        return reply

    async def _use_tools(self, reply: ProviderReply) -> None:
        calls = [_wire_call(call) for call in reply.tool_calls]
        self._messages.append({"role": "assistant", "content": reply.text, "tool_calls": calls})
        await self._record("tool_calls", {"text": reply.text, "calls": calls})
        for call in reply.tool_calls:
            answer = await self._tools.call(call.name, call.arguments)
            self._messages.append({"role": "tool", "tool_call_id": call.id, "content": answer})
            await self._record("tool_result", {"id": call.id, "name": call.name, "answer": answer})


def _wire_call(call: ToolCall) -> dict[str, Any]:
    # Other providers may pass on anything; the registry tells the model what is wrong with it.
    arguments = dict(call.arguments) if isinstance(call.arguments, Mapping) else {}
    text = json.dumps(arguments, ensure_ascii=False, default=str)
    function = {"name": call.name, "arguments": text}
    return {"id": call.id, "type": "function", "function": function}
