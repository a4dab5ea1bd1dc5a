"""Where messages go: the arguments of the statement that appends them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from conversations.access import Level
from conversations.drafts import Draft

WRITES = Level.WRITER


@dataclass(slots=True)
class _Place:
    """What becomes of one conversation: how many messages, and what they change about it."""

    conversation: UUID
    count: int = 0
    is_visible: bool = False
    has_user_message: bool = False
    preview: str | None = None
    title: str | None = None
    askers: list[str] = field(default_factory=list)

    def add(self, draft: Draft) -> None:
        self.count += 1
        if not draft.is_visible:
            return
        self.is_visible = True
        self.preview = draft.preview
        if draft.role == "user":
            self.has_user_message = True
            if self.title is None:
                self.title = draft.title

    def row(self) -> tuple[Any, ...]:
        """A conversation for append_messages.sql."""
        title = self.title
        return (
            self.conversation,
            self.count,
            self.is_visible,
            self.has_user_message,
            self.preview,
            title,
            None if title is None else title.casefold(),
            self.askers,
        )


def arguments(appends: Iterable[tuple[UUID, Sequence[Draft], str | None]]) -> list[Any]:
    """The arguments of append_messages.sql, of messages with their conversations and askers."""
    places: dict[UUID, _Place] = {}
    rows: list[tuple[Any, ...]] = []
    for conversation, drafts, asker in appends:
        place = places.get(conversation)
        if place is None:
            place = places[conversation] = _Place(conversation)
        if asker is not None and asker not in place.askers:
            place.askers.append(asker)
        for draft in drafts:
            rows.append(draft.row(conversation, place.count))
            place.add(draft)
    # In the order of their ids, in which all workers take the locks.
    ordered = sorted(places.values(), key=lambda place: place.conversation)
    return [[place.row() for place in ordered], rows, WRITES, len(ordered)]
