"""The memories that a listing, a count, a search or a deletion covers."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from recall.memory import Memory, MemoryType, namespace_of


@dataclass(frozen=True)
class Selection:
    """The memories of some owners that meet all conditions.

    `text` is a literal substring of the content or the key, ignoring case; `older_than` is compared
    with `createdAt`; `embedded_with` is the model of the vector.
    """

    owners: tuple[str, ...] = ()
    type: MemoryType | None = None
    session_id: str | None = None
    text: str | None = field(default=None, repr=False)
    older_than: datetime | None = None
    embedded_with: str | None = None

    def of(self, owners: tuple[str, ...]) -> "Selection":
        """The same conditions for these owners."""
        return replace(self, owners=owners)

    @property
    def namespaces(self) -> dict[str, str]:
        """The owners by namespace."""
        return {namespace_of(owner): owner for owner in self.owners}

    @property
    def where(self) -> dict[str, str]:
        """The conditions that a plugin with `filter` can check: equality of recall's fields."""
        wanted = {
            "type": self.type,
            "sessionId": self.session_id,
            "embeddedWith": self.embedded_with,
        }
        return {name: value for name, value in wanted.items() if value is not None}

    @property
    def is_whole(self) -> bool:
        """Whether it has no conditions."""
        return not self.where and self.text is None and self.older_than is None

    @property
    def is_countable(self) -> bool:
        """Whether a plugin with `filter` can count it."""
        return self.text is None and self.older_than is None

    def matches(self, memory: Memory) -> bool:
        """Whether a memory of one of these owners meets the conditions."""
        return (
            (self.type is None or memory.type == self.type)
            and (self.session_id is None or memory.session_id == self.session_id)
            and (self.embedded_with is None or memory.embedded_with == self.embedded_with)
            and (self.older_than is None or memory.created_at < self.older_than)
            and (self.text is None or self._has_text(memory))
        )

    def _has_text(self, memory: Memory) -> bool:
        wanted = (self.text or "").lower()
        return wanted in memory.content.lower() or wanted in memory.key.lower()
