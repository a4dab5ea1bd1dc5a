"""The gateway in a run: recall before it, persist after it, and an event for each outcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.config import GatewayConfig
from agent.errors import MemoryGatewayError
from agent.gateway_client import MemoryGatewayClient
from agent.recalled import recall_message, usable
from agent.texts import Message

ASSISTANT = "beaver"


@dataclass(frozen=True)
class GatewayEvent:
    """What happened, for the session's hidden events. Never contains a key or a response."""

    name: str
    payload: Mapping[str, Any]


@dataclass(frozen=True)
class GatewayRecall:
    """`messages` has at most one message for the model."""

    messages: tuple[Message, ...]
    event: GatewayEvent


@dataclass(frozen=True)
class GatewayPersistence:
    """`flushed` is only ever true when `added` is."""

    added: bool
    flushed: bool
    events: tuple[GatewayEvent, ...]


class MemoryGatewayService:
    """Best effort: a failure is recorded in the events and never raised."""

    def __init__(self, config: GatewayConfig, client: MemoryGatewayClient) -> None:
        self._config = config
        self._client = client

    async def recall_before_run(self, *, session_id: str, prompt: str) -> GatewayRecall:
        """Search for the prompt; what is found becomes one message."""
        try:
            results = await self._client.search(conversation_id=session_id, query=prompt)
        except MemoryGatewayError as error:
            return GatewayRecall((), _failed("recall", error))
        found = usable(results, self._config)
        payload = {"scope": list(self._config.scope), "result_count": len(found)}
        messages = (recall_message(found),) if found else ()
        return GatewayRecall(messages, GatewayEvent("memory_gateway_recall_succeeded", payload))

    async def persist_after_run(
        self, *, session_id: str, prompt: str, answer: str, prompt_ms: int, answer_ms: int
    ) -> GatewayPersistence:
        """Add the two messages of the turn; if that worked, flush the session."""
        session = f"chat:{session_id}"
        begun = max(prompt_ms, 1)
        messages = [
            _message(self._config.user_id, "user", begun, prompt),
            _message(ASSISTANT, "assistant", max(answer_ms, begun + 1), answer),
        ]
        try:
            await self._client.add(session_id=session, messages=messages)
        except MemoryGatewayError as error:
            return GatewayPersistence(False, False, (_failed("add", error, session_id=session),))
        payload = {"session_id": session, "message_count": len(messages)}
        added = GatewayEvent("memory_gateway_add_succeeded", payload)
        try:
            await self._client.flush(session_id=session)
        except MemoryGatewayError as error:
            failed = _failed("flush", error, session_id=session, add_succeeded=True)
            return GatewayPersistence(True, False, (added, failed))
        flushed = GatewayEvent("memory_gateway_flush_succeeded", {"session_id": session})
        return GatewayPersistence(True, True, (added, flushed))


def _message(sender: str, role: str, timestamp: int, content: str) -> dict[str, Any]:
    return {"sender_id": sender, "role": role, "timestamp": timestamp, "content": content}


def _failed(step: str, error: MemoryGatewayError, **more: Any) -> GatewayEvent:
    payload = {
        "operation": error.operation,
        "category": error.category,
        "status_code": error.status_code,
        **more,
    }
    return GatewayEvent(f"memory_gateway_{step}_failed", payload)
