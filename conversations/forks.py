"""Forks: conversations that branch off at a message."""

from uuid import UUID

import asyncpg
from starlette.responses import Response

from conversations import answers
from conversations.answers import Row, answer
from conversations.appends import append_in
from conversations.calls import Call
from conversations.drafts import Draft, user_draft
from conversations.errors import BadRequest, Conflict, NotFound
from conversations.fields import Fields
from conversations.ids import new_id
from conversations.messages import is_visible
from conversations.paths import on_path
from conversations.statements import load, one
from postgres.database import Database


class Forks:
    """The handlers of `…/fork` and `…/forks`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def fork(self, call: Call) -> Response:
        """Create a conversation whose path is this one's up to, but not including, a message."""
        replaced = call.key("messageId", "message")
        target = (await on_path(self._database, call.conversation, [replaced])).get(replaced)
        if target is None or not is_visible(target):
            raise NotFound("message", str(replaced))
        fields = await call.fields()
        title = fields.title()
        draft = None
        if fields.raw("newMessage") is not None:
            draft = user_draft(Fields(fields.raw("newMessage"), "newMessage"), call.user)
        if target["role"] != "user":
            raise BadRequest("messageId", "only a message with the role user can be replaced")
        try:
            row, is_new = await self._make(call, target, title, draft), True
        except asyncpg.UniqueViolationError:
            row, is_new = await self._made_before(target, draft), False
        except asyncpg.ForeignKeyViolationError:
            raise NotFound("conversation", str(call.conversation)) from None
        return answer(201 if is_new else 200, answers.conversation(row, call.place.level))

    async def _make(self, call: Call, target: Row, title: str | None, draft: Draft | None) -> Row:
        earlier = await self._database.fetch(
            load("visible_page"), call.conversation, False, 0, target["sequence"], 1
        )
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(
                load("fork_conversation"),
                new_id(),
                call.conversation,
                target["conversation_id"],
                target["id"],
                target["sequence"],
                earlier[0]["id"] if earlier else None,
                title,
                (title or "").casefold(),
                None if draft is None else draft.id,
            )
            if row is None:
                raise NotFound("conversation", str(call.conversation))
            if draft is not None:
                await append_in(connection, row["id"], [draft])
                return await one(connection, "get_conversation", row["id"])
        return row

    async def _made_before(self, target: Row, draft: Draft | None) -> Row:
        """The fork that an earlier request with the same first message created."""
        if draft is None:
            raise Conflict("the fork could not be created")
        row = await self._database.fetchrow(load("find_fork"), draft.id)
        if row is None or row["forked_from_message_id"] != target["id"]:
            raise Conflict("newMessage.id: already used by another message")
        stored = await self._database.fetchrow(load("find_messages"), [draft.id])
        if stored is None:
            raise Conflict("newMessage.id: already used by another message")
        draft.check_repeats(stored, row["id"])
        return row

    async def list_page(self, call: Call) -> Response:
        """All conversations of the group, root first."""
        limit = call.parameters.whole("limit", 1, 1000, 1000)
        after: UUID | None = call.parameters.uuid("after")
        if after is not None and not await self._database.fetchval(
            load("is_in_group"), call.conversation, after
        ):
            raise BadRequest("after", "must be the id of a fork in the list")
        rows = await self._database.fetch(load("list_forks"), call.conversation, after, limit + 1)
        data = [answers.fork(row, call.conversation) for row in rows[:limit]]
        following = rows[limit - 1]["id"] if len(rows) > limit else None
        return answer(200, answers.page(data, following))
