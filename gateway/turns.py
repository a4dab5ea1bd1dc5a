"""Messages become turns, and turns become the texts of memories."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from language.sentences import split_text

LONGEST = 2000
# Replaces the space after a label while a text is split, so that no part is only a label.
_GLUE = "\ue001"
_LABELS = {"user": "User:", "assistant": "Assistant:"}
_GLUED = re.compile(f"(User|Assistant):{_GLUE}")


@dataclass(frozen=True, slots=True)
class Message:
    """A message in the buffer."""

    role: str
    sender_id: str
    sent_at: datetime
    content: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A run of user messages with the answers that follow."""

    messages: tuple[Message, ...]

    @property
    def began_at(self) -> datetime:
        return self.messages[0].sent_at

    @property
    def said_by_user(self) -> list[str]:
        return [it.content for it in self.messages if it.role == "user"]

    @property
    def sender_ids(self) -> list[str]:
        return list(dict.fromkeys(it.sender_id for it in self.messages))

    def texts(self) -> list[str]:
        """The text in parts of at most 2,000 characters, none blank."""
        lines = (f"{_LABELS[it.role]}{_GLUE}{it.content.strip()}" for it in self.messages)
        return [_GLUED.sub(r"\1: ", it) for it in split_text("\n".join(lines), LONGEST)]


@dataclass(slots=True)
class _Run:
    messages: list[Message] = field(default_factory=list)
    answered: bool = False


def turns(messages: Iterable[Message]) -> Iterator[Turn]:
    """The turns of a conversation, in order; tool messages and blank ones are skipped."""
    run = _Run()
    for message in messages:
        if message.role not in _LABELS or not message.content.strip():
            continue
        if message.role == "user" and run.answered:
            yield Turn(tuple(run.messages))
            run = _Run()
        run.messages.append(message)
        run.answered = run.answered or message.role == "assistant"
    if run.messages:
        yield Turn(tuple(run.messages))


def part_numbers(texts: Sequence[str]) -> list[dict[str, int]]:
    """The part number of each text and their count; nothing if there is only one."""
    if len(texts) == 1:
        return [{}]
    return [{"part": number, "parts": len(texts)} for number in range(1, len(texts) + 1)]
