"""Conversations: the list, and creating, reading, changing and deleting one."""

from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
from starlette.responses import Response

from conversations import answers, exact
from conversations.access import Access, Level
from conversations.answers import answer, nothing
from conversations.calls import Call
from conversations.cursors import START, make_cursor, read_cursor
from conversations.errors import BadRequest, Conflict, NotFound, Refusal, Unavailable
from conversations.ids import find_uuid, new_id, random_id
from conversations.recorder import TextLog
from conversations.statements import load
from postgres.database import Database

MODES = ("all", "roots", "latest-fork")
MAX_QUERY = 1000
_MARK = b"con"
_ATTEMPTS = 5
_DELETE_SECONDS = 60


class Directory:
    """The handlers of `/v1/user/conversations` and of one conversation."""

    def __init__(self, database: Database, access: Access, text: TextLog) -> None:
        self._database = database
        self._access = access
        self._text = text

    async def list_page(self, call: Call) -> Response:
        """The conversations that the user can see, newest first."""
        asked = call.parameters
        limit = asked.whole("limit", 1, 200, 20)
        mode = asked.choice("mode", MODES, "all")
        words = (asked.text("query", MAX_QUERY) or "").casefold().split()
        moment, key = await self._place(asked.text("after"), call.user)
        rows = await self._database.fetch(
            load("list_conversations"),
            call.user,
            moment,
            key,
            limit + 1,
            mode == "roots",
            mode == "latest-fork",
            words,
        )
        data = [answers.conversation_summary(row, row["level"]) for row in rows[:limit]]
        following = None
        if len(rows) > limit:
            following = make_cursor(_MARK, rows[limit - 1]["updated_at"], rows[limit - 1]["id"])
        return answer(200, answers.page(data, following))

    async def _place(self, after: str | None, user: str) -> tuple[datetime, UUID]:
        """Where a page of the list begins, from a cursor or the id of a conversation."""
        if after is None:
            return START
        key = find_uuid(after)
        if key is None:
            return read_cursor(_MARK, after, "after")
        moment = await self._database.fetchval(load("place_in_list"), key, user)
        if moment is None:
            raise BadRequest("after", "must be a cursor, or the id of a conversation in the list")
        return moment, key

    async def create(self, call: Call) -> Response:
        """Create a conversation that the user owns."""
        fields = await call.fields()
        key = fields.uuid("id") or new_id()
        title = fields.title()
        metadata = fields.metadata() or {}
        try:
            row = await self._database.fetchrow(
                load("create_conversation"),
                key,
                random_id(),
                call.user,
                title,
                (title or "").casefold(),
                exact.dumps(metadata),
                folded_strings(metadata),
            )
        except asyncpg.UniqueViolationError:
            row = None  # created concurrently
        if row is not None:
            return answer(201, answers.conversation(row, Level.OWNER))
        try:
            grant = await self._access.enter(call.caller, str(key), Level.OWNER)
        except Refusal:
            raise Conflict("id: already used by another conversation") from None
        return answer(200, await self._read(grant.conversation, grant.level))

    async def get(self, call: Call) -> Response:
        return answer(200, await self._read(call.conversation, call.place.level))

    async def _read(self, key: UUID, level: Level | None) -> dict[str, Any]:
        row = await self._database.fetchrow(load("get_conversation"), key)
        if row is None:
            raise NotFound("conversation", str(key))
        return answers.conversation(row, level)

    async def patch(self, call: Call) -> Response:
        """Change title, metadata or both; an absent field is kept, null clears it."""
        fields = await call.fields()
        if not fields.has("title") and not fields.has("metadata"):
            raise BadRequest("title", "give a title, metadata or both")
        title = fields.title()
        metadata = fields.metadata() or {}
        row = await self._database.fetchrow(
            load("patch_conversation"),
            call.conversation,
            fields.has("title"),
            title,
            (title or "").casefold(),
            fields.has("metadata"),
            exact.dumps(metadata),
            folded_strings(metadata),
        )
        if row is None:
            raise NotFound("conversation", str(call.conversation))
        return answer(200, answers.conversation(row, call.place.level))

    async def delete(self, call: Call) -> Response:
        """Delete the whole group, or one branch of it."""
        is_branch = call.parameters.choice("scope", ("group", "branch"), "group") == "branch"
        for _ in range(_ATTEMPTS):
            try:
                async with self._database.transaction() as connection:
                    await connection.execute(f"SET LOCAL statement_timeout = '{_DELETE_SECONDS}s'")
                    recordings = await _delete(connection, call, is_branch)
            except asyncpg.ForeignKeyViolationError:
                continue  # a fork was created below in the meantime
            if recordings:
                await self._text.forget(recordings)
            return nothing()
        raise Unavailable("the conversation is being forked; retry the deletion")


async def _delete(connection: asyncpg.Connection, call: Call, is_branch: bool) -> list[UUID]:
    """Delete everything that is stored; the search index follows through the outbox.

    Returns the recordings in progress, whose text may be elsewhere.
    """
    group = await connection.fetchrow(load("lock_group"), call.conversation)
    if group is None:
        raise NotFound("conversation", str(call.conversation))
    everything = await connection.fetch(load("find_group"), group["id"])
    branch = await connection.fetch(load("find_branch"), call.conversation)
    is_root = any(row["is_root"] and row["id"] == call.conversation for row in everything)
    if not is_branch or is_root:
        await connection.fetch(load("lock_conversations"), [row["id"] for row in everything])
        await connection.execute(load("forget_group"), group["id"])
        await connection.fetch(
            load("delete_messages"), [row["id"] for row in everything], timeout=_DELETE_SECONDS
        )
        recordings = await _in_progress(connection, [row["id"] for row in everything])
        await connection.execute("DELETE FROM groups WHERE id = $1", group["id"])
        return recordings
    gone = [row["id"] for row in branch]
    await connection.fetch(load("lock_conversations"), gone)
    await connection.execute(load("withdraw_messages"), group["id"], gone)
    seen = await connection.fetch(load("delete_messages"), gone, timeout=_DELETE_SECONDS)
    await connection.execute(load("forget_messages"), group["id"], [row["id"] for row in seen])
    await connection.execute(load("move_transfers"), group["id"], gone)
    recordings = await _in_progress(connection, gone)
    await connection.execute("DELETE FROM conversations WHERE id = ANY($1::uuid[])", gone)
    return recordings


async def _in_progress(connection: asyncpg.Connection, conversations: list[UUID]) -> list[UUID]:
    rows = await connection.fetch(load("find_recordings_in_progress"), conversations)
    return [row["id"] for row in rows]


def folded_strings(value: Any) -> str:
    """The string values in a JSON value, one per line, case-folded for comparison."""
    found: list[str] = []

    def collect(item: Any) -> None:
        if isinstance(item, str):
            found.append(item.casefold())
        elif isinstance(item, dict):
            for inner in item.values():
                collect(inner)
        elif isinstance(item, list):
            for inner in item:
                collect(inner)

    collect(value)
    return "\n".join(found)
