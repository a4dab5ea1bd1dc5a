"""An agent's memory: epochs, and setting the newest one to a list."""

from collections.abc import Sequence
from uuid import UUID

import asyncpg
from starlette.responses import Response

from conversations import answers
from conversations.answers import Row, answer
from conversations.appends import append_in
from conversations.calls import Call
from conversations.drafts import Draft, agent_drafts, same_content
from conversations.errors import BadRequest, Conflict, NotFound
from conversations.paths import check_parents
from conversations.statements import load
from postgres.database import Database


async def newest_epoch(
    connection: asyncpg.Connection, conversation: UUID, agent: str
) -> int | None:
    """The newest epoch of the agent along the path; None when it has none."""
    epoch: int | None = await connection.fetchval(load("find_epoch"), conversation, agent)
    return epoch


async def start_epoch(
    connection: asyncpg.Connection, conversation: Row, agent: str, epoch: int
) -> None:
    """Start an epoch at the current end of the conversation, which must be locked."""
    await connection.execute(
        load("start_epoch"), conversation["id"], agent, epoch, conversation["next_sequence"]
    )


class Memory:
    """The handler of `…/memory/messages/sync`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def sync(self, call: Call) -> Response:
        """Make the agent's memory equal to the list."""
        drafts = agent_drafts(
            await call.fields(), call.agent, call.caller.user, default_channel="MEMORY"
        )
        for index, draft in enumerate(drafts):
            if draft.channel != "MEMORY":
                raise BadRequest(f"messages[{index}].channel", "must be MEMORY")
        await check_parents(self._database, call.conversation, drafts)
        try:
            async with self._database.transaction() as connection:
                result = await self._sync(connection, call, drafts)
        except asyncpg.UniqueViolationError:
            raise Conflict("id: already used by another message") from None
        return answer(200, result)

    async def _sync(
        self, connection: asyncpg.Connection, call: Call, drafts: list[Draft]
    ) -> dict[str, object]:
        locked = await connection.fetchrow(load("lock_conversation"), call.conversation)
        if locked is None:
            raise NotFound("conversation", str(call.conversation))
        epoch = await newest_epoch(connection, call.conversation, call.agent)
        known: Sequence[Row] = []
        if epoch is not None:
            known = await connection.fetch(
                load("newest_memory"), call.conversation, call.agent, epoch
            )
        if epoch is None or not _begins_with(drafts, known):
            epoch = (epoch or 0) + 1
            await start_epoch(connection, locked, call.agent, epoch)
            added, incremented = drafts, True
        else:
            added, incremented = drafts[len(known) :], False
        placed = [draft.in_epoch(epoch) for draft in added]
        rows = await append_in(connection, call.conversation, placed)
        return {
            "memoryEpoch": epoch,
            "noOp": not rows and not incremented,
            "epochIncremented": incremented,
            "messages": [answers.message(row) for row in rows],
        }


def _begins_with(drafts: list[Draft], known: Sequence[Row]) -> bool:
    """Whether the list begins with what is stored: the same roles and contents."""
    return len(drafts) >= len(known) and all(
        row["role"] == draft.role and same_content(row, draft)
        for row, draft in zip(known, drafts, strict=False)
    )
