"""Rows as the objects of the API."""

from collections.abc import Iterable
from typing import Any, Protocol
from uuid import UUID

import orjson
from starlette.responses import Response

from conversations.access import Level
from serving.whole import JsonBytes


class Row(Protocol):
    """A database row, or a mapping that will become one."""

    def __getitem__(self, column: str, /) -> Any: ...

    def keys(self) -> Iterable[str]: ...


PREVIEW = 200


def answer(status: int, body: Any) -> Response:
    """A JSON answer; times in UTC with `Z`."""
    return JsonBytes(encode(body), status)


def encode(body: Any) -> bytes:
    """Encode as JSON; `default` handles asyncpg's UUID class, which orjson does not know."""
    return orjson.dumps(body, default=str, option=orjson.OPT_UTC_Z)


NOTHING = 204


def nothing() -> Response:
    return Response(status_code=NOTHING)


def page(data: list[Any], next_cursor: str | UUID | None) -> dict[str, Any]:
    return {"data": data, "nextCursor": next_cursor}


def conversation_summary(row: Row, level: int | None) -> dict[str, Any]:
    return {
        "id": row["id"],
        "title": row["title"],
        "ownerUserId": row["owner_user_id"],
        "createdAt": row["created_at"],
        "updatedAt": row["updated_at"],
        "lastMessagePreview": row["last_preview"],
        "accessLevel": None if level is None else Level(level).word,
        "conversationGroupId": row["group_id"],
    }


def conversation(row: Row, level: int | None) -> dict[str, Any]:
    return {
        **conversation_summary(row, level),
        "metadata": orjson.Fragment(row["metadata"]),
        "forkedAtConversationId": row["forked_at_conversation_id"],
        "forkedAtMessageId": row["forked_at_message_id"],
    }


def message(row: Row) -> dict[str, Any]:
    metadata = row["metadata"]
    return {
        "id": row["id"],
        "conversationId": row["conversation_id"],
        "sequence": row["sequence"],
        "role": row["role"],
        "channel": row["channel"],
        "visibility": row["visibility"],
        "content": orjson.Fragment(row["content"]) if row["is_list"] else row["content"],
        "metadata": None if metadata is None else orjson.Fragment(metadata),
        "userId": row["user_id"],
        "agentId": row["agent_id"],
        "parentMessageId": row["parent_message_id"],
        "memoryEpoch": row["memory_epoch"],
        "createdAt": row["created_at"],
    }


def fork(row: Row, current: UUID) -> dict[str, Any]:
    return {
        "forkId": row["id"],
        "conversationId": row["id"],
        "conversationGroupId": row["group_id"],
        "forkedFromMessageId": row["forked_from_message_id"],
        "forkedAtMessageId": row["forked_at_message_id"],
        "forkedAtConversationId": row["forked_at_conversation_id"],
        "title": row["title"],
        "createdAt": row["created_at"],
        "isCurrentFork": row["id"] == current,
    }


def membership(row: Row, conversation_id: UUID) -> dict[str, Any]:
    return {
        "conversationId": conversation_id,
        "userId": row["user_id"],
        "accessLevel": Level(row["level"]).word,
        "createdAt": row["created_at"],
    }


def transfer(row: Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        "conversationId": row["conversation_id"],
        "conversationTitle": row["title"],
        "fromUserId": row["from_user_id"],
        "toUserId": row["to_user_id"],
        "status": row["status"],
        "createdAt": row["created_at"],
        "updatedAt": row["updated_at"],
    }


def recording(row: Row) -> dict[str, Any]:
    return {
        "recordingId": row["id"],
        "conversationId": row["conversation_id"],
        "status": row["status"],
        "offset": row["length"],
        "cancelRequested": row["cancel_requested"],
        "messageId": row["message_id"],
        "createdAt": row["created_at"],
        "updatedAt": row["updated_at"],
    }


def text_of(content: Any) -> str:
    """The text of a message: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")
