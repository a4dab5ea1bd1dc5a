"""A message that is not stored yet, and how it is read from a request."""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from conversations import exact
from conversations.answers import PREVIEW, Row, text_of
from conversations.errors import BadRequest, Conflict
from conversations.fields import Fields
from conversations.ids import new_id

ROLES = ("user", "assistant", "system", "tool", "agent")
VISIBILITIES = ("user", "agent", "system")
CHANNELS = ("HISTORY", "MEMORY", "SUMMARY")
MAX_MESSAGES = 1000
_TITLE = 40


class Draft(NamedTuple):
    """A message to append; the fields after `text` are columns of append_messages.sql."""

    text: str
    id: UUID
    role: str
    channel: str
    visibility: str
    content: str
    is_list: bool
    metadata: str | None = None
    user: str | None = None
    agent: str | None = None
    parent: UUID | None = None
    epoch: int | None = None

    @property
    def is_visible(self) -> bool:
        """Whether users see it."""
        return self.channel == "HISTORY" and self.visibility == "user"

    @property
    def preview(self) -> str | None:
        """The preview that it gives its conversation, if users see it."""
        return self.text[:PREVIEW] or None

    @property
    def title(self) -> str | None:
        """The title that it gives a conversation without one."""
        return " ".join(self.text[: 40 * _TITLE].split())[:_TITLE] or None

    def in_epoch(self, epoch: int) -> "Draft":
        return self._replace(epoch=epoch)

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns for append_messages.sql."""
        return self[1:]

    def stored(self, conversation: UUID, sequence: int, at: datetime) -> dict[str, Any]:
        """The row as it was stored."""
        return {
            "id": self.id,
            "conversation_id": conversation,
            "sequence": sequence,
            "role": self.role,
            "channel": self.channel,
            "visibility": self.visibility,
            "content": self.content,
            "is_list": self.is_list,
            "metadata": self.metadata,
            "user_id": self.user,
            "agent_id": self.agent,
            "parent_message_id": self.parent,
            "memory_epoch": self.epoch,
            "created_at": at,
        }

    def repeats(self, row: Row, conversation: UUID) -> bool:
        """Whether a stored message with this id is the same message."""
        return (
            row["conversation_id"] == conversation
            and row["user_id"] == self.user
            and row["agent_id"] == self.agent
            and row["role"] == self.role
            and row["channel"] == self.channel
            and row["visibility"] == self.visibility
            and same_content(row, self)
        )

    def check_repeats(self, row: Row, conversation: UUID) -> None:
        """Raise `Conflict` unless a stored message with this id is the same message."""
        if not self.repeats(row, conversation):
            raise Conflict("id: already used by another message")


def same_content(row: Row, draft: Draft) -> bool:
    """Whether a stored message has the same content, regardless of key order."""
    if row["is_list"] != draft.is_list:
        return False
    if row["content"] == draft.content:
        return True
    return draft.is_list and exact.canonical(row["content"]) == exact.canonical(draft.content)


def user_draft(fields: Fields, user: str) -> Draft:
    """A CreateUserMessageRequest."""
    content = fields.content(lists=False)
    return _draft(
        fields, content, role="user", channel="HISTORY", visibility="user", user=user, agent=None
    )


def agent_drafts(
    fields: Fields, agent: str, user: str | None, *, default_channel: str | None = None
) -> list[Draft]:
    """The messages of an agent's request; an id may occur only once."""
    if not fields.has("messages") or fields.raw("messages") is None:
        raise fields.refuse("messages", "is required")
    drafts = [
        _agent_draft(item, agent, user, default_channel)
        for item in fields.objects("messages", MAX_MESSAGES)
    ]
    seen: set[UUID] = set()
    for index, draft in enumerate(drafts):
        if draft.id in seen:
            raise BadRequest(f"messages[{index}].id", "must not appear twice in a request")
        seen.add(draft.id)
    return drafts


def _agent_draft(
    fields: Fields, agent: str, user: str | None, default_channel: str | None
) -> Draft:
    channel = fields.choice("channel", CHANNELS, any_case=True) or default_channel
    visibility = fields.choice("visibility", VISIBILITIES)
    if channel == "SUMMARY":
        raise fields.refuse("channel", "must not be SUMMARY: summaries have their own endpoint")
    if visibility is None:
        visibility = "agent" if channel == "MEMORY" else "user"
    if channel is None:
        channel = "HISTORY" if visibility == "user" else "MEMORY"
    if channel == "MEMORY" and visibility == "user":
        raise fields.refuse("visibility", "must be agent or system: users do not see MEMORY")
    author = fields.user("userId")
    if user is not None:
        if author not in (None, user):
            raise fields.refuse("userId", "must be the user of the token")
        author = user
    return _draft(
        fields,
        fields.content(lists=True),
        role=fields.choice("role", ROLES) or "assistant",
        channel=channel,
        visibility=visibility,
        user=author,
        agent=agent,
        parent=fields.uuid("parentMessageId"),
    )


def _draft(
    fields: Fields,
    content: str | list[Any],
    *,
    role: str,
    channel: str,
    visibility: str,
    user: str | None,
    agent: str | None,
    parent: UUID | None = None,
) -> Draft:
    metadata = fields.metadata()
    is_list = not isinstance(content, str)
    # Positional: keyword arguments would double the cost.
    return Draft(
        text_of(content),
        fields.uuid("id") or new_id(),
        role,
        channel,
        visibility,
        content if isinstance(content, str) else exact.dumps(content),
        is_list,
        None if metadata is None else exact.dumps(metadata),
        user,
        agent,
        parent,
    )
