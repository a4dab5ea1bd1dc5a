"""The arguments of the statement that appends messages."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any
from uuid import UUID

from conversations.access import Level
from conversations.drafts import Draft

WRITES = Level.WRITER
# Separates user ids, which have no control characters.
_BETWEEN = "\x1f"
_NOTHING: tuple[Any, ...] = (None,) * 7


class _Place:
    """A conversation in the statement: its new messages, and what they change."""

    __slots__ = ("askers", "conversation", "drafts")

    def __init__(self, conversation: UUID) -> None:
        self.conversation = conversation
        self.drafts: list[Draft] = []
        self.askers: list[str] = []

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows for append_messages.sql."""
        changes = self._changes()
        for further, draft in enumerate(self.drafts):
            yield self.conversation, further, *changes, *draft.columns
            changes = _NOTHING

    def _changes(self) -> tuple[Any, ...]:
        newest: Draft | None = None
        has_user_message = False
        title: str | None = None
        for draft in self.drafts:
            if draft.is_visible:
                newest = draft
                if draft.role == "user":
                    has_user_message = True
                    title = title or draft.title
        return (
            len(self.drafts),
            newest is not None,
            has_user_message,
            None if newest is None else newest.preview,
            title,
            None if title is None else title.casefold(),
            _BETWEEN.join(self.askers),
        )


def arguments(appends: Iterable[tuple[UUID, Sequence[Draft], str | None]]) -> list[Any]:
    """The arguments of append_messages.sql, from conversations with messages and askers."""
    places: dict[UUID, _Place] = {}
    for conversation, drafts, asker in appends:
        place = places.get(conversation)
        if place is None:
            place = places[conversation] = _Place(conversation)
        if asker is not None and asker not in place.askers:
            place.askers.append(asker)
        place.drafts += drafts
    # All workers take the locks in the order of the ids.
    ordered = sorted(places.values(), key=attrgetter("conversation"))
    rows: list[tuple[Any, ...]] = []
    for place in ordered:
        rows += place.rows()
    return [rows, WRITES, len(ordered)]
