"""The curated memory: what may be stored in `MEMORY.md` and `USER.md`, and how it changes."""

from collections.abc import Callable, Sequence
from pathlib import Path

from agent.addressed import addresses_the_model
from agent.entries import SEPARATOR, added, removed, replaced, split
from agent.errors import CuratedMemoryError, CuratedMemoryFull
from agent.hidden_text import visible
from agent.memory_file import MemoryFile

TARGETS = ("memory", "user")


class MemoryStore:
    """Any number of threads and processes may use the same directory at the same time."""

    def __init__(
        self, directory: Path, *, memory_limit: int = 4000, user_limit: int = 2000
    ) -> None:
        self._files = {
            "memory": MemoryFile(Path(directory) / "MEMORY.md"),
            "user": MemoryFile(Path(directory) / "USER.md"),
        }
        self._limits = {"memory": memory_limit, "user": user_limit}

    def entries(self, target: str) -> list[str]:
        """The entries now in the file."""
        return split(self._file(target).text())

    def chars(self, target: str) -> int:
        """The length of the whole file."""
        return len(self._file(target).text())

    def limit(self, target: str) -> int:
        """How long the whole file may be."""
        self._file(target)
        return self._limits[target]

    def add(self, target: str, content: str) -> None:
        """Append an entry, unless it already exists."""
        content = _acceptable(content)

        def add(text: str) -> str:
            return text if _has(split(text), content) else added(text, content)

        self._change(target, add)

    def replace(self, target: str, old_text: str, content: str) -> None:
        """Replace the one entry that contains `old_text` with `content`."""
        content = _acceptable(content)

        def replace(text: str) -> str:
            entries = split(text)
            at = _only(entries, old_text)
            if _has([*entries[:at], *entries[at + 1 :]], content):
                return removed(text, at)
            return replaced(text, at, content)

        self._change(target, replace)

    def remove(self, target: str, old_text: str) -> None:
        """Remove the one entry that contains `old_text`."""
        self._change(target, lambda text: removed(text, _only(split(text), old_text)))

    def _change(self, target: str, change: Callable[[str], str]) -> None:
        limit = self.limit(target)

        def rewrite(old: str) -> str | None:
            new = change(old)
            if new == old:
                return None
            # A file that is already too long may become shorter step by step.
            if len(new) > limit and len(new) >= len(old):
                raise CuratedMemoryFull(
                    f"The file would have {len(new)} characters and may have {limit}. Merge or"
                    " remove entries with replace and remove, then try again."
                )
            return new

        self._file(target).change(rewrite)

    def _file(self, target: str) -> MemoryFile:
        if target not in self._files:
            raise CuratedMemoryError(f"target must be one of {', '.join(TARGETS)}.")
        return self._files[target]


def _acceptable(content: str) -> str:
    """The content as it is stored: without hidden characters and blank edges."""
    content = visible(content).strip()
    if not content:
        raise CuratedMemoryError("content is blank. Give the text to remember.")
    if any(line.strip() == SEPARATOR for line in content.splitlines()):
        raise CuratedMemoryError(
            f"A line {SEPARATOR} separates entries. Add one entry at a time, without such a line."
        )
    reason = addresses_the_model(content)
    if reason:
        raise CuratedMemoryError(
            f"This was not stored, because {reason}. Write what is true of the user or the work,"
            " as a plain statement."
        )
    return content


def _has(entries: Sequence[str], content: str) -> bool:
    return any(visible(entry).strip() == content for entry in entries)


def _only(entries: Sequence[str], old_text: str) -> int:
    """The index of the one entry that contains this text."""
    piece = visible(old_text).strip()
    if not piece:
        raise CuratedMemoryError("old_text is blank. Give a piece of the entry to change.")
    found = [at for at, entry in enumerate(entries) if piece in visible(entry)]
    if not found:
        raise CuratedMemoryError("No entry has this old_text. Copy a piece of an entry exactly.")
    if len(found) > 1:
        raise CuratedMemoryError(
            f"{len(found)} entries have this old_text. Give a longer piece that only one has."
        )
    return found[0]
