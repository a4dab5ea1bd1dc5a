"""Assembles the messages for the model."""

from collections.abc import Sequence

from agent.memory_service import MemorySnapshot
from agent.texts import DEFAULT_INSTRUCTIONS, UNTRUSTED_MEMORY_RULE, Message


class ContextBuilder:
    """Recalled text never gets into the system message."""

    def __init__(self, *, instructions: str = DEFAULT_INSTRUCTIONS) -> None:
        self._instructions = instructions

    def build_messages(
        self,
        *,
        prompt: str,
        history: Sequence[Message] = (),
        snapshot: MemorySnapshot | None = None,
        skill_messages: Sequence[Message] = (),
        recalled: Sequence[Message] = (),
        gateway_active: bool = False,
    ) -> list[Message]:
        """System message, skills, recalled memory, history, and the prompt last."""
        parts = [
            self._instructions,
            snapshot.text if snapshot else "",
            UNTRUSTED_MEMORY_RULE if gateway_active else "",
        ]
        system = {"role": "system", "content": "\n\n".join(part for part in parts if part)}
        before = [dict(message) for message in (*skill_messages, *recalled, *history)]
        return [system, *before, {"role": "user", "content": prompt}]
