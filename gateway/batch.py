"""What a flush makes from messages: the memories of a batch, and questions for a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from gateway.names import SessionName
from gateway.turns import Message, Turn, part_numbers, turns
from language.statements import find_statements


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to be written, and its position in the batch."""

    id: UUID
    position: int
    type: str
    created_at: datetime
    text: str = field(repr=False)
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Question:
    """What the user said in a turn, for a model to find facts in; with the turn's memories."""

    number: int
    memories: list[UUID]
    sent_at: datetime
    text: str = field(repr=False)


@dataclass(slots=True)
class Batch:
    """The memories of one flush; ids come from the session, the batch and the position."""

    id: UUID
    session: SessionName
    memories: list[NewMemory] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def add_turns(self, messages: Sequence[Message], *, ask: bool) -> None:
        for number, turn in enumerate(turns(messages)):
            made = [*self._add_turn(turn), *self._add_facts(turn)]
            if ask and turn.said_by_user:
                said = "\n".join(turn.said_by_user)
                ids = [it.id for it in made]
                self.questions.append(Question(number, ids, turn.began_at, said))

    def add_facts(self, texts: Sequence[str], at: datetime) -> None:
        for text in texts:
            self.add("fact", at, text)

    def add_chunks(self, texts: Sequence[str], at: datetime, title: str | None) -> None:
        named = {} if title is None else {"title": title}
        for text, numbers in zip(texts, part_numbers(texts), strict=True):
            self.add("chunk", at, text, {**numbers, **named})

    def add(
        self, kind: str, at: datetime, text: str, extra: dict[str, Any] | None = None
    ) -> NewMemory:
        position = len(self.memories)
        key = self.session.memory_id(self.id, position)
        memory = NewMemory(key, position, kind, at, text, extra or {})
        self.memories.append(memory)
        return memory

    def _add_turn(self, turn: Turn) -> Iterator[NewMemory]:
        texts = turn.texts()
        for text, numbers in zip(texts, part_numbers(texts), strict=True):
            yield self.add("turn", turn.began_at, text, {**numbers, "sender_ids": turn.sender_ids})

    def _add_facts(self, turn: Turn) -> Iterator[NewMemory]:
        known = set[str]()
        for message in turn.messages:
            if message.role != "user":
                continue
            for fact in find_statements(message.content):
                if fact not in known:
                    known.add(fact)
                    extra = {"sender_ids": [message.sender_id]}
                    yield self.add("fact", message.sent_at, fact, extra)

    def arguments(self) -> tuple[list[Any], ...]:
        """The memories and questions as the columns that the statements take."""
        made, asked = self.memories, self.questions
        return (
            [it.id for it in made],
            [it.position for it in made],
            [it.type for it in made],
            [it.created_at for it in made],
            [it.extra for it in made],
            [it.text for it in made],
            [it.number for it in asked],
            [" ".join(map(str, it.memories)) for it in asked],
            [it.sent_at for it in asked],
            [it.text for it in asked],
        )
