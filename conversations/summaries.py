"""Summaries, which replace the older part of a path when an agent reads it."""

import asyncpg
from starlette.responses import Response

from contract import format_time
from conversations import answers, exact
from conversations.answers import Row, answer
from conversations.appends import stored
from conversations.calls import Call
from conversations.drafts import Draft
from conversations.errors import NotFound
from conversations.fields import MAX_CONTENT, Fields
from conversations.ids import new_id
from conversations.paths import on_path
from conversations.statements import load
from postgres.database import Database


class Summaries:
    """The handler of `…/summaries`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, call: Call) -> Response:
        """Store a summary; it replaces the title unless a person chose it."""
        fields = await call.fields()
        if fields.raw("title") is None:
            raise fields.refuse("title", "is required")
        title = fields.title()
        draft, until = await self._read(call, fields)
        try:
            row = await self._store(call, draft, until, title)
        except asyncpg.UniqueViolationError:
            known = (await stored(self._database, [draft.id]))[draft.id]
            draft.check_repeats(known, call.conversation)
            return answer(200, answers.message(known))
        return answer(201, answers.message(row))

    async def _read(self, call: Call, fields: Fields) -> tuple[Draft, Row]:
        text = fields.text("summary", MAX_CONTENT)
        if text is None or not text.strip():
            raise fields.refuse("summary", "is required and must not be blank")
        if len(exact.dumps(text).encode()) > MAX_CONTENT:
            raise fields.refuse("summary", f"must be at most {MAX_CONTENT} bytes of JSON")
        until, at = fields.uuid("untilMessageId"), fields.time("summarizedAt")
        if until is None:
            raise fields.refuse("untilMessageId", "is required")
        if at is None:
            raise fields.refuse("summarizedAt", "is required")
        content = exact.dumps(
            [
                {
                    "type": "summary",
                    "text": text,
                    "untilMessageId": str(until),
                    "summarizedAt": format_time(at),
                }
            ]
        )
        draft = Draft(
            id=fields.uuid("id") or new_id(),
            role="agent",
            channel="SUMMARY",
            visibility="agent",
            content=content,
            is_list=True,
            text=text,
            user=call.caller.user,
            agent=call.agent,
        )
        last = (await on_path(self._database, call.conversation, [until])).get(until)
        if last is None or last["channel"] == "SUMMARY":
            raise fields.refuse("untilMessageId", "must be a message on the path")
        return draft, last

    async def _store(self, call: Call, draft: Draft, until: Row, title: str | None) -> Row:
        async with self._database.transaction() as connection:
            locked = await connection.fetchrow(load("lock_conversation"), call.conversation)
            if locked is None:
                raise NotFound("conversation", str(call.conversation))
            created_at = await connection.fetchval(
                load("store_summary"),
                draft.id,
                call.conversation,
                locked["group_id"],
                until["sequence"],
                draft.content,
                draft.agent,
                draft.user,
                until["conversation_id"],
                until["id"],
            )
            if title is not None:
                await connection.execute(
                    load("retitle"), call.conversation, title, title.casefold()
                )
        return draft.stored(call.conversation, until["sequence"], created_at)
