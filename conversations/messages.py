"""Messages: what users see of a path, and what users and agents append to it."""

from collections.abc import Sequence
from uuid import UUID

import asyncpg
from starlette.responses import Response

from conversations import answers
from conversations.answers import Row, answer
from conversations.appends import Appended, Appends, append_in, stored
from conversations.calls import CONVERSATION, Call
from conversations.drafts import Draft, agent_drafts, user_draft
from conversations.errors import BadRequest, NotFound
from conversations.memory import newest_epoch, start_epoch
from conversations.paths import END, check_parents, on_path
from conversations.statements import load
from postgres.database import Database

SCOPES = ("path", "own")


class Messages:
    """The handlers of `…/messages`, for users and for agents."""

    def __init__(self, database: Database, appends: Appends) -> None:
        self._database = database
        self._appends = appends

    async def list_page(self, call: Call) -> Response:
        """What users see of the path, oldest first."""
        asked = call.parameters
        limit = asked.whole("limit", 1, 1000, 50)
        own = asked.choice("scope", SCOPES, "path") == "own"
        after, before = asked.uuid("after"), asked.uuid("before")
        tail = asked.flag("tail")
        if (after is not None) + (before is not None) + tail > 1:
            given = "before" if after is not None and before is not None else "tail"
            raise BadRequest(given, "use one of after, before and tail")
        backwards = tail or before is not None
        low = 0 if after is None else await self._sequence(call.conversation, after, own, "after")
        high = END
        if before is not None:
            high = await self._sequence(call.conversation, before, own, "before")
        statement = load("visible_page", leave_out=None if backwards else "backward")
        rows = await self._database.fetch(statement, call.conversation, own, low, high, limit + 1)
        more = len(rows) > limit
        rows = sorted(rows[:limit], key=lambda row: row["sequence"])
        # The message named by `after` or `before` is on the other side of the page.
        earlier, later = (more, before is not None) if backwards else (after is not None, more)
        first = rows[0]["id"] if rows else after or before
        last = rows[-1]["id"] if rows else before or after
        body = {
            "data": [answers.message(row) for row in rows],
            "nextCursor": last if later else None,
            "prevCursor": first if earlier else None,
        }
        return answer(200, body)

    async def _sequence(self, conversation: UUID, key: UUID, own: bool, field: str) -> int:
        """The number of a message that is in the listing."""
        row = (await on_path(self._database, conversation, [key])).get(key)
        if row is None or not is_visible(row) or (own and not row["is_own"]):
            raise BadRequest(field, "must be the id of a message in the listing")
        return int(row["sequence"])

    async def append(self, call: Call) -> Response:
        """Append a user's message. The statement that stores it checks access."""
        try:
            draft = user_draft(await call.fields(), call.user)
        except Exception:
            await call.enter()  # a caller who may not write learns nothing about the body
            raise
        key = call.key(CONVERSATION, "conversation")
        appended = await self._appends.add(key, [draft], asker=call.user)
        return answer(201 if appended.is_new else 200, answers.message(appended.rows[0]))

    async def append_many(self, call: Call) -> Response:
        """Append an agent's messages: all or none, next to each other."""
        fields = await call.fields()
        drafts = agent_drafts(fields, call.agent, call.caller.user)
        if not drafts:
            raise fields.refuse("messages", "must have at least one message")
        await check_parents(self._database, call.conversation, drafts)
        if any(draft.channel == "MEMORY" for draft in drafts):
            appended = await self._append_memory(call, drafts)
        else:
            appended = await self._appends.add(call.conversation, drafts)
        body = {"messages": [answers.message(row) for row in appended.rows]}
        return answer(201 if appended.is_new else 200, body)

    async def _append_memory(self, call: Call, drafts: list[Draft]) -> Appended:
        """Append messages that include memory, which joins the epoch that is newest right now."""
        try:
            return await self._append_new_memory(call, drafts)
        except asyncpg.UniqueViolationError:
            known = await stored(self._database, [draft.id for draft in drafts])
        for draft in drafts:
            if draft.id in known:
                draft.check_repeats(known[draft.id], call.conversation)
        new = [draft for draft in drafts if draft.id not in known]
        added = (await self._append_new_memory(call, new)).rows if new else []
        rows: dict[UUID, Row] = {**known, **{row["id"]: row for row in added}}
        return Appended([dict(rows[draft.id]) for draft in drafts], is_new=bool(new))

    async def _append_new_memory(self, call: Call, drafts: Sequence[Draft]) -> Appended:
        async with self._database.transaction() as connection:
            locked = await connection.fetchrow(load("lock_conversation"), call.conversation)
            if locked is None:
                raise NotFound("conversation", str(call.conversation))
            epoch = await newest_epoch(connection, call.conversation, call.agent)
            if epoch is None:
                epoch = 1
                await start_epoch(connection, locked, call.agent, epoch)
            placed = [
                draft.in_epoch(epoch) if draft.channel == "MEMORY" else draft for draft in drafts
            ]
            return Appended(await append_in(connection, call.conversation, placed), is_new=True)


def is_visible(row: Row) -> bool:
    """Whether users see a stored message."""
    return bool(row["channel"] == "HISTORY" and row["visibility"] == "user")
