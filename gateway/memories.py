"""`PATCH /memories/{id}`: replaces the text of a memory."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import contract
from gateway.errors import BadRequest, NotFound, Unavailable
from gateway.locks import Locks
from gateway.models import Models
from gateway.names import SessionName
from gateway.plugin import Plugin, Unwritten
from gateway.results import result
from gateway.statements import load
from gateway.users import User
from postgres.database import Database


class Memories:
    """Edits single memories."""

    def __init__(
        self,
        database: Database,
        plugin: Plugin,
        locks: Locks,
        models: Models,
        redact: Callable[[str], str],
    ) -> None:
        self._database = database
        self._plugin = plugin
        self._locks = locks
        self._models = models
        self._redact = redact

    async def edit(self, user: User, memory_id: UUID, text: str) -> dict[str, Any]:
        """Write the new text to the plugin; returns the memory."""
        text = self._redact(text)
        session = (await self._find(user, memory_id))["session"]
        async with self._locks.hold(session):
            row = await self._find(user, memory_id)
            await self._write(row, text)
            edited_at = await self._database.fetchval(load("mark_edited"), session, memory_id)
        if edited_at is None:
            raise _unknown()  # deleted meanwhile
        return result({**row, "edited_at": edited_at}, text)

    async def _find(self, user: User, memory_id: UUID) -> Any:
        row = await self._database.fetchrow(load("find_memory"), user.id, memory_id)
        if row is None:
            raise _unknown()
        return row

    async def _write(self, row: Any, text: str) -> None:
        name = SessionName(row["user_id"], row["app_id"], row["project_id"], row["name"])
        [embedding] = await self._models.embed([text])
        memory = Unwritten(row["id"], row["type"], row["created_at"], text, embedding)
        is_new = not row["is_stored"]
        try:
            written = await self._plugin.write(name, row["namespace"], [memory], is_new=is_new)
        except contract.MemoryPluginError as error:
            raise Unavailable(
                "the memory plugin does not accept memories now",
                retry_after=getattr(error, "retry_after", None),
            ) from None
        if not written:
            raise BadRequest.about("text", "the memory plugin refuses this text")


def _unknown() -> NotFound:
    return NotFound("this memory does not exist")
