"""Members of a group: who may read, write and manage it."""

import asyncpg
from starlette.responses import Response

from conversations import answers
from conversations.access import GRANTABLE, Level, level_of
from conversations.answers import Row, answer, nothing
from conversations.calls import Call
from conversations.errors import Conflict, NotFound
from conversations.fields import Fields, is_user
from conversations.statements import load, one
from postgres.database import Database

_OWNER_STAYS = "the owner's membership changes only by a transfer of ownership"


class Members:
    """The handlers of `…/memberships`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_all(self, call: Call) -> Response:
        """Owner first, then in the order in which they joined."""
        rows = await self._database.fetch(load("list_members"), call.place.group)
        data = [answers.membership(row, call.conversation) for row in rows]
        return answer(200, {"data": data})

    async def share(self, call: Call) -> Response:
        """Add a member, or change the level of one."""
        fields = await call.fields()
        user = fields.user("userId")
        if user is None:
            raise fields.refuse("userId", "is required")
        level = _granted(fields)
        async with self._database.transaction() as connection:
            await self._lock(connection, call)
            known = await connection.fetchrow(load("find_member"), call.place.group, user)
            if known is not None and known["level"] == Level.OWNER:
                raise Conflict(_OWNER_STAYS)
            row = await one(connection, "share", call.place.group, user, level)
        is_new = known is None
        return answer(201 if is_new else 200, answers.membership(row, call.conversation))

    async def change(self, call: Call) -> Response:
        """Set the level of a member."""
        level = _granted(await call.fields())
        user = call.segment("userId")
        async with self._database.transaction() as connection:
            await self._lock(connection, call)
            known = await self._known(connection, call, user)
            if known["level"] == Level.OWNER:
                raise Conflict(_OWNER_STAYS)
            row = await one(connection, "share", call.place.group, user, level)
        return answer(200, answers.membership(row, call.conversation))

    async def remove(self, call: Call) -> Response:
        """Remove a member, or leave; cancels a pending transfer to that member."""
        user = call.segment("userId")
        if user != call.user:
            call.require(Level.MANAGER)
        async with self._database.transaction() as connection:
            await self._lock(connection, call)
            known = await self._known(connection, call, user)
            if known["level"] == Level.OWNER:
                raise Conflict(_OWNER_STAYS)
            await connection.execute(load("revoke"), call.place.group, user)
            await connection.execute(load("cancel_transfer_to"), call.place.group, user)
        return nothing()

    @staticmethod
    async def _lock(connection: asyncpg.Connection, call: Call) -> None:
        if await connection.fetchrow(load("lock_group"), call.conversation) is None:
            raise NotFound("conversation", str(call.conversation))

    @staticmethod
    async def _known(connection: asyncpg.Connection, call: Call, user: str) -> Row:
        row = None
        if is_user(user):
            row = await connection.fetchrow(load("find_member"), call.place.group, user)
        if row is None:
            raise NotFound("member", user[:255])
        found: Row = row
        return found


def _granted(fields: Fields) -> Level:
    word = fields.choice("accessLevel", GRANTABLE)
    if word is None:
        raise fields.refuse("accessLevel", "is required")
    return level_of(word)
