"""The body of `POST /memories/add`.

Most requests are plain, and a few comparisons are enough to accept them. All others are validated
by `wire.AddRequest`, which has the same rules and reports what is wrong.
"""

from typing import Any, NamedTuple, get_args

from contract.scalars import check_text
from gateway import wire
from gateway.wire import AddRequest

_ROLES = frozenset(get_args(wire.Role))


class Said(NamedTuple):
    """A message; the timestamp is in milliseconds since 1970."""

    role: str
    sender_id: str
    timestamp: int
    content: str


class Addition(NamedTuple):
    """Messages and their session."""

    app_id: str
    project_id: str
    session_id: str
    messages: list[Said]


def read_addition(fields: dict[str, Any]) -> Addition:
    """Validate a body; `BadRequest` names the field."""
    return plain_addition(fields) or _any_addition(fields)


def plain_addition(fields: dict[str, Any]) -> Addition | None:
    """The request, if it is plain and valid; None if it needs full validation."""
    app_id, project_id = fields.get("app_id", "default"), fields.get("project_id", "default")
    session_id, given = fields.get("session_id"), fields.get("messages")
    if (
        not _is_scope_id(app_id)
        or not _is_scope_id(project_id)
        or type(session_id) is not str
        or not wire.is_plain_session(session_id)
        or type(given) is not list
        or not 1 <= len(given) <= wire.MAX_MESSAGES
    ):
        return None
    messages = []
    for message in given:
        if type(message) is not dict:
            return None
        role, sender_id = message.get("role"), message.get("sender_id")
        timestamp, content = message.get("timestamp"), message.get("content")
        if (
            type(role) is not str
            or role not in _ROLES
            or type(sender_id) is not str
            or not wire.is_plain(sender_id, wire.MAX_NAME)
            or type(timestamp) is not int
            or not 0 < timestamp < wire.YEAR_10000
            or type(content) is not str
        ):
            return None
        try:
            messages.append(Said(role, sender_id, timestamp, check_text(content)))
        except ValueError:
            return None
    return Addition(app_id, project_id, session_id, messages)


def _any_addition(fields: dict[str, Any]) -> Addition:
    asked = wire.read(AddRequest, fields)
    messages = [Said(it.role, it.sender_id, it.timestamp, it.content) for it in asked.messages]
    return Addition(asked.app_id, asked.project_id, asked.session_id, messages)


def _is_scope_id(value: object) -> bool:
    return value == "default" or (type(value) is str and wire.is_scope_id(value))
