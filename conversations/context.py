"""What an agent reads: history, its own memory, and a summary in place of what it covers."""

from typing import Any
from uuid import UUID

from starlette.responses import Response

from conversations import answers
from conversations.answers import answer
from conversations.calls import Call
from conversations.errors import BadRequest
from conversations.fields import choose
from conversations.messages import SCOPES
from conversations.paths import END, on_path
from conversations.statements import load
from postgres.database import Database


class Context:
    """The handler of `…/context`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, call: Call) -> Response:
        """A page of the path, as the calling agent sees it."""
        asked = call.parameters
        limit = asked.whole("limit", 1, 1000, 100)
        own = asked.choice("scope", SCOPES, "path") == "own"
        channel = asked.text("channel")
        if channel is not None:
            channel = choose(channel, ("HISTORY", "MEMORY"), "channel", any_case=True)
        with_summary = asked.choice("summaries", ("latest", "none"), "latest") != "none"
        tail = asked.flag("tail")
        after, seen = await self._after(call.conversation, asked.uuid("afterMessageId"))
        summary, covered = None, 0
        if channel == "MEMORY":
            covered = END - 1
        elif with_summary and channel is None:
            summary, covered = await self._summary(call.conversation, own)
        epoch = None
        if channel != "HISTORY":
            epoch = await self._database.fetchval(load("find_epoch"), call.conversation, call.agent)
        rows = await self._database.fetch(
            load("context_page", leave_out=None if tail else "backward"),
            call.conversation,
            own,
            after,
            limit + 1,
            covered,
            call.agent,
            epoch,
            summary,
            seen,
        )
        more = len(rows) > limit and not tail
        rows = rows[:limit]
        if tail:
            rows.reverse()
        body: dict[str, Any] = {
            "conversationId": call.conversation,
            "messages": [answers.message(row) for row in rows],
            "nextAfterMessageId": rows[-1]["id"] if more else None,
        }
        return answer(200, body)

    async def _after(self, conversation: UUID, after: UUID | None) -> tuple[int, int]:
        """The number of the message, and the number up to which a summary has been seen."""
        if after is None:
            return 0, 0
        row = (await on_path(self._database, conversation, [after])).get(after)
        if row is None:
            raise BadRequest("afterMessageId", "must be a message on the path")
        number = int(row["sequence"])
        # A summary does not replace memory: if it covers some last, it comes after that.
        return number, number - 1 if row["channel"] == "MEMORY" else number

    async def _summary(self, conversation: UUID, own: bool) -> tuple[UUID | None, int]:
        """The summary in effect, and the number of the last message it covers."""
        row = await self._database.fetchrow(load("find_summary"), conversation, own)
        return (None, 0) if row is None else (row["id"], row["sequence"])
