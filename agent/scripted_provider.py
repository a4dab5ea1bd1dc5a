"""A model with scripted replies, for tests and demos."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.errors import ProviderError
from agent.provider import ProviderReply
from agent.texts import Message


@dataclass(frozen=True)
class ScriptedCall:
    """A copy of what the model was asked."""

    messages: list[Message]
    tools: list[dict[str, Any]]


class ScriptedProvider:
    """Gives the replies in turn; a string is a text, an exception is raised.

    After the last reply it fails with the category `script_ended`.
    """

    def __init__(self, replies: Iterable[ProviderReply | str | Exception]) -> None:
        self._replies = iter(replies)
        self.calls: list[ScriptedCall] = []

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]
    ) -> ProviderReply:
        asked = [dict(message) for message in messages], [dict(tool) for tool in tools]
        self.calls.append(ScriptedCall(*copy.deepcopy(asked)))
        reply = next(self._replies, ProviderError("script_ended"))
        if isinstance(reply, BaseException):
            raise reply
        return ProviderReply(text=reply) if isinstance(reply, str) else reply
