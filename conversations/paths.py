"""Queries about the path of a conversation."""

from collections.abc import Sequence
from uuid import UUID

from conversations.answers import Row
from conversations.drafts import Draft
from conversations.errors import BadRequest
from conversations.statements import load
from postgres.database import Database

END = 2**31 - 1


async def on_path(database: Database, conversation: UUID, ids: Sequence[UUID]) -> dict[UUID, Row]:
    """The messages with these ids that are on the path of a conversation."""
    rows = await database.fetch(load("find_on_path"), conversation, list(ids))
    return {row["id"]: row for row in rows}


async def check_parents(database: Database, conversation: UUID, drafts: Sequence[Draft]) -> None:
    """Every parent must be on the path, or precede its child in the same request."""
    wanted = {draft.parent for draft in drafts if draft.parent is not None}
    if not wanted:
        return
    known = set(await on_path(database, conversation, list(wanted)))
    for index, draft in enumerate(drafts):
        if draft.parent is not None and draft.parent not in known:
            raise BadRequest(f"messages[{index}].parentMessageId", "must be a message on the path")
        known.add(draft.id)
