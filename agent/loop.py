"""One run of the agent: from a prompt to a stored answer."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.context import ContextBuilder
from agent.errors import ConfigError
from agent.gateway_service import MemoryGatewayService
from agent.memory_service import MemoryService
from agent.provider import Provider
from agent.sessions import SessionStore
from agent.texts import Message
from agent.tools import ToolRegistry
from agent.turn import FinishReason, Turn, TurnEnd


@dataclass(frozen=True)
class AgentRunResult:
    """`error` is a category, and `text` is empty, when `finish_reason` is `error`."""

    session_id: str
    text: str
    finish_reason: FinishReason
    tool_rounds: int = 0
    error: str | None = None


class AgentLoop:
    """Made by `EngineLoader`. Runs may overlap; those of one session should not."""

    def __init__(
        self,
        *,
        provider: Provider | None,
        sessions: SessionStore,
        tools: ToolRegistry,
        context: ContextBuilder,
        memory: MemoryService | None,
        gateway: MemoryGatewayService | None,
        clock: Callable[[], int],
        max_tool_rounds: int,
    ) -> None:
        self._provider = provider
        self._sessions = sessions
        self._tools = tools
        self._context = context
        self._memory = memory
        self._gateway = gateway
        self._clock = clock
        self._max_tool_rounds = max_tool_rounds

    async def run(
        self,
        prompt: str,
        *,
        session_id: str | None = None,
        skill_messages: Sequence[Message] = (),
        on_answer: Callable[[str], None] | None = None,
    ) -> AgentRunResult:
        """Answer a prompt, in a new session if none is named.

        `on_answer` gets the answer before the gateway is told about the turn. A failing gateway
        changes nothing but the hidden events. Raises ConfigError without a provider and
        SessionStoreError when the session cannot be read or written.
        """
        if self._provider is None:
            raise ConfigError("provider: is required to answer; set provider.baseUrl and .model")
        session = await asyncio.to_thread(self._sessions.create, session_id)
        prompt_ms = self._clock()
        messages = await self._messages(session, prompt, skill_messages)
        await asyncio.to_thread(self._sessions.append_message, session, "user", prompt)

        async def record(name: str, payload: Mapping[str, Any]) -> None:
            await self._record(session, name, payload)

        turn = Turn(self._provider, self._tools, messages, record)
        end = await turn.converse(self._max_tool_rounds)
        if end.failure is not None:
            failure = {"category": end.failure.category, "status_code": end.failure.status_code}
            await self._record(session, "run_failed", failure)
            return AgentRunResult(session, "", "error", end.tool_rounds, end.failure.category)
        await asyncio.to_thread(self._sessions.append_message, session, "assistant", end.text)
        if on_answer is not None:
            on_answer(end.text)
        await self._persist(session, prompt, end, prompt_ms, self._clock())
        return AgentRunResult(session, end.text, end.finish_reason, end.tool_rounds)

    async def _messages(
        self, session: str, prompt: str, skill_messages: Sequence[Message]
    ) -> list[Message]:
        snapshot = None if self._memory is None else await asyncio.to_thread(self._memory.snapshot)
        recalled = await self._recall(session, prompt)
        history = await asyncio.to_thread(self._sessions.history, session)
        return self._context.build_messages(
            prompt=prompt,
            history=history,
            snapshot=snapshot,
            skill_messages=skill_messages,
            recalled=recalled,
            gateway_active=self._gateway is not None,
        )

    async def _recall(self, session: str, prompt: str) -> Sequence[Message]:
        if self._gateway is None:
            return ()
        recall = await self._gateway.recall_before_run(session_id=session, prompt=prompt)
        await self._record(session, recall.event.name, recall.event.payload)
        return recall.messages

    async def _persist(
        self, session: str, prompt: str, end: TurnEnd, prompt_ms: int, answer_ms: int
    ) -> None:
        if self._gateway is None:
            return
        persistence = await self._gateway.persist_after_run(
            session_id=session,
            prompt=prompt,
            answer=end.text,
            prompt_ms=prompt_ms,
            answer_ms=answer_ms,
        )
        for event in persistence.events:
            await self._record(session, event.name, event.payload)

    async def _record(self, session: str, name: str, payload: Mapping[str, Any]) -> None:
        await asyncio.to_thread(
            self._sessions.append_event, session, name, payload, context_visible=False
        )
