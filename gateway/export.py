"""`GET /users/{user_id}/export`: everything stored about a user, one JSON object per line.

The last line is `{"type": "end", …}`: an export without it was cut off.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import contract
from contract import format_time
from gateway.names import resource_uri
from gateway.plugin import Plugin
from gateway.resources import shown
from gateway.results import raw, to_json
from gateway.statements import load
from gateway.users import User
from postgres.database import Database

_LOOKS = 20
_PAUSE_SECONDS = 0.05
_KINDS = ("user", "session", "message", "memory", "resource")
_CUT = "the memory plugin cannot list all memories of a session"
_DOWN = "the memory plugin did not answer"
_LOST = "the memory plugin no longer has them"


class Export:
    """The lines of one export; sessions are in order of creation."""

    def __init__(self, database: Database, plugin: Plugin, user: User) -> None:
        self._database = database
        self._plugin = plugin
        self._user = user
        self._counts = Counter[str]()
        self._missing = 0
        self._reason = ""

    async def lines(self) -> AsyncIterator[bytes]:
        user = {"user_id": self._user.user_id, "created_at": format_time(self._user.created_at)}
        yield self._line("user", user)
        await self._wait_for_flushes()
        last = 0
        while sessions := await self._database.fetch(load("export_sessions"), self._user.id, last):
            for session in sessions:
                async for line in self._session(session):
                    yield line
            last = sessions[-1]["id"]
        end: dict[str, Any] = {
            "type": "end",
            "counts": {kind: self._counts[kind] for kind in _KINDS},
            "complete": not self._missing,
        }
        if self._missing:
            memories = "1 memory is" if self._missing == 1 else f"{self._missing} memories are"
            end |= {"missing": self._missing, "reason": f"{memories} missing: {self._reason}"}
        yield to_json(end) + b"\n"

    async def _wait_for_flushes(self) -> None:
        """Wait briefly for flushes that have responded but not yet dropped their messages.

        One that takes longer is still running, or is waiting for the plugin.
        """
        for _ in range(_LOOKS):
            if not await self._database.fetchval(load("has_open_batches"), self._user.id):
                return
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _session(self, session: Any) -> AsyncIterator[bytes]:
        where = {
            "app_id": session["app_id"],
            "project_id": session["project_id"],
            "session_id": session["name"],
        }
        yield self._line("session", {**where, "created_at": format_time(session["created_at"])})
        if session["is_resource"]:
            resource = await self._database.fetchrow(load("export_resource"), session["id"])
            if resource is not None:
                place = {"app_id": session["app_id"], "project_id": session["project_id"]}
                yield self._line("resource", {**place, **shown(resource)})
        last = 0
        while messages := await self._database.fetch(load("export_messages"), session["id"], last):
            for row in messages:
                message = {
                    "sender_id": row["sender_id"],
                    "role": row["role"],
                    "timestamp": round(row["sent_at"].timestamp() * 1000),
                    "content": row["content"],
                }
                yield self._line("message", {**where, **message})
            last = messages[-1]["number"]
        async for line in self._memories(session, where):
            yield line

    async def _memories(self, session: Any, where: dict[str, str]) -> AsyncIterator[bytes]:
        rows = await self._database.fetch(load("export_memories"), session["id"])
        if not rows:
            return
        texts = {row["id"]: row["text"] for row in rows if row["text"] is not None}
        stored = [row["id"] for row in rows if row["text"] is None]
        reason = _LOST
        if stored:
            try:
                found, is_all = await self._plugin.texts(session["namespace"], stored)
                texts |= found
                reason = _LOST if is_all else _CUT
            except contract.MemoryPluginError:
                reason = _DOWN
        await self._count_missing([one for one in stored if one not in texts], reason)
        for row in rows:
            text = texts.get(row["id"])
            if text is None:
                continue
            memory = {
                "id": str(row["id"]),
                **where,
                "text": text,
                "created_at": format_time(row["created_at"]),
                "resource_uri": resource_uri(session["name"]),
                "raw": raw(row),
            }
            yield self._line("memory", memory)

    async def _count_missing(self, ids: list[UUID], reason: str) -> None:
        """Count the memories that were not found and have not been deleted meanwhile."""
        count = await self._database.fetchval(load("count_memories"), ids) if ids else 0
        if count:
            self._missing += count
            self._reason = self._reason or reason

    def _line(self, kind: str, fields: dict[str, Any]) -> bytes:
        self._counts[kind] += 1
        return to_json({"type": kind, **fields}) + b"\n"
