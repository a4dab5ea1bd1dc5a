"""Deletion: at once in the database, and in the plugin as soon as it can be reached.

The table `deletions` lists what the plugin still has to delete. The request tries the plugin right
away; a background task retries what is left.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any
from uuid import UUID

from asyncpg import ForeignKeyViolationError

import contract
from gateway.errors import NotFound
from gateway.locks import Locks
from gateway.metrics import Numbers
from gateway.names import resource_session
from gateway.plugin import Plugin
from gateway.statements import load
from gateway.users import User
from gateway.wire import Request
from postgres.database import Database
from postgres.errors import StoreUnavailable

# How long a caller waits for the plugin before it gets 202.
_PATIENCE_SECONDS = 8.0
_SESSIONS_AT_ONCE = 100

log = logging.getLogger(__name__)


class Deletion:
    """Each method returns whether the plugin has confirmed the deletion."""

    def __init__(self, database: Database, plugin: Plugin, locks: Locks, numbers: Numbers) -> None:
        self._database = database
        self._plugin = plugin
        self._locks = locks
        self._numbers = numbers
        self._under_way = set[asyncio.Future[bool]]()

    async def delete_memory(self, user: User, memory_id: UUID) -> bool:
        row = await self._database.fetchrow(load("delete_memory"), user.id, memory_id)
        if row is None:
            raise NotFound("this memory does not exist")
        return await self._patiently(self.carry_out(row))

    async def delete_session(self, user: User, place: Request, name: str) -> bool:
        row = await self._database.fetchrow(
            load("delete_session"), user.id, place.app_id, place.project_id, name
        )
        if row is None:
            raise NotFound("this session does not exist")
        return await self._patiently(self.carry_out(row))

    async def delete_resource(self, user: User, place: Request, resource_id: str) -> bool:
        try:
            return await self.delete_session(
                user, place, resource_session(user.user_id, resource_id)
            )
        except NotFound:
            raise NotFound("this resource does not exist") from None

    async def delete_user(self, user: User) -> bool:
        """Delete everything; the key stops working at once."""
        if await self._database.fetchrow(load("delete_user"), user.id) is None:
            raise NotFound("this user does not exist")
        return await self._patiently(self.empty_user(user.id))

    async def empty_user(self, owner: int) -> bool:
        """Continue the deletion of a user; True when nothing is left."""
        while await self._database.execute(load("empty_user"), owner, _SESSIONS_AT_ONCE):
            pass
        while due := await self._database.fetch(load("due_deletions"), owner):
            confirmed = await asyncio.gather(*map(self.carry_out, due))
            if not all(confirmed):
                return False
        try:
            if await self._database.fetchval(load("remove_user"), owner):
                return True
            # If another worker removed it while this waited, only a second look shows that.
            return bool(await self._database.fetchval(load("remove_user"), owner))
        except ForeignKeyViolationError:
            return False  # a concurrent add has just created a session

    async def carry_out(self, row: Any) -> bool:
        """Delete in the plugin; if that fails now, a chore retries it later."""
        try:
            async with self._locks.hold(row["session"]):
                if row["memory_id"] is None:
                    await self._plugin.delete_namespace(row["namespace"])
                else:
                    await self._plugin.forget(row["namespace"], row["memory_id"])
        except contract.MemoryPluginError as error:
            self._numbers.deletions_postponed.inc()
            log.warning("deletion postponed", extra={"reason": type(error).__name__})
            await self._database.execute(load("postpone_deletion"), row["id"])
            return False
        await self._database.execute(load("finish_deletion"), row["id"])
        return True

    async def _patiently(self, work: Coroutine[Any, Any, bool]) -> bool:
        """Its result, or False if it takes too long; it continues in the background."""
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        with suppress(TimeoutError, StoreUnavailable):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return bool(await asyncio.shield(task))
        return False
