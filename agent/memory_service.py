"""What the model sees of the curated memory: a snapshot, frozen for one run."""

import logging
from dataclasses import dataclass

from agent.addressed import addresses_the_model
from agent.entries import join
from agent.errors import CuratedMemoryError
from agent.hidden_text import visible
from agent.memory_store import MemoryStore

logger = logging.getLogger("agent")

_HEADINGS = {
    "memory": "Your notes from earlier conversations (MEMORY.md):",
    "user": "What you know about the user (USER.md):",
}


@dataclass(frozen=True)
class MemorySnapshot:
    """The entries as the model may see them."""

    memory: tuple[str, ...]
    user: tuple[str, ...]

    @property
    def text(self) -> str:
        """A part of the system prompt; "" when both are empty."""
        parts = ((_HEADINGS["memory"], self.memory), (_HEADINGS["user"], self.user))
        return "\n\n".join(f"{heading}\n{join(entries)}" for heading, entries in parts if entries)


class MemoryService:
    """Reads the store for a run."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store

    def snapshot(self) -> MemorySnapshot:
        """The files as they are now."""
        return MemorySnapshot(memory=self.shown("memory"), user=self.shown("user"))

    def shown(self, target: str) -> tuple[str, ...]:
        """The entries for the model, without hidden characters and instructions to the model."""
        try:
            entries = self.store.entries(target)
        except CuratedMemoryError as error:
            # A run without its notes is better than no run, but somebody has to know.
            logger.warning("curated memory is left out of the prompt: %s", error)
            return ()
        return tuple(entry for entry in map(_shown, entries) if entry)


def _shown(entry: str) -> str:
    text = visible(entry).strip()
    reason = addresses_the_model(text)
    return f"[withheld: {reason}]" if reason else text
