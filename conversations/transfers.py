"""Ownership transfers: offered by the owner, accepted or declined by the recipient."""

import asyncpg
from starlette.responses import Response

from conversations import answers
from conversations.answers import Row, answer
from conversations.calls import Call
from conversations.cursors import START, make_cursor, read_cursor
from conversations.errors import Conflict, Forbidden, NotFound
from conversations.ids import new_id
from conversations.statements import load, one
from postgres.database import Database

ROLES = ("all", "sender", "recipient")
_MARK = b"tra"


class Transfers:
    """The handlers of `…/transfer-ownership` and `/v1/user/ownership-transfers`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def start(self, call: Call) -> Response:
        """Offer the group to a user; one offer at a time."""
        fields = await call.fields()
        recipient = fields.user("newOwnerUserId")
        if recipient is None:
            raise fields.refuse("newOwnerUserId", "is required")
        if recipient == call.user:
            raise fields.refuse("newOwnerUserId", "must be another user")
        async with self._database.transaction() as connection:
            group = await connection.fetchrow(load("lock_group"), call.conversation)
            if group is None:
                raise NotFound("conversation", str(call.conversation))
            if group["owner_user_id"] != call.user:
                raise Forbidden("this requires the level owner, and ownership was just transferred")
            pending = await connection.fetchrow(load("find_pending_transfer"), group["id"])
            if pending is not None and pending["to_user_id"] != recipient:
                raise Conflict(
                    "another transfer is pending; cancel it first",
                    existingTransferId=pending["id"],
                )
            key = new_id() if pending is None else pending["id"]
            if pending is None:
                # Before something refers to it: see fork_conversation.sql.
                await connection.fetchrow(load("lock_conversation"), call.conversation)
                await connection.execute(
                    load("start_transfer"),
                    key,
                    group["id"],
                    call.conversation,
                    call.user,
                    recipient,
                )
            row = await one(connection, "find_transfer", key, call.user)
        return answer(202, answers.transfer(row))

    async def list_page(self, call: Call) -> Response:
        """Pending transfers of the user, newest first."""
        asked = call.parameters
        role = asked.choice("role", ROLES, "all")
        limit = asked.whole("limit", 1, 200, 20)
        after = asked.text("after")
        moment, key = START if after is None else read_cursor(_MARK, after, "after")
        rows = await self._database.fetch(
            load("list_transfers"),
            call.user,
            role != "recipient",
            role != "sender",
            moment,
            key,
            limit + 1,
        )
        data = [answers.transfer(row) for row in rows[:limit]]
        following = None
        if len(rows) > limit:
            following = make_cursor(_MARK, rows[limit - 1]["created_at"], rows[limit - 1]["id"])
        return answer(200, answers.page(data, following))

    async def get(self, call: Call) -> Response:
        key = call.key("transferId", "transfer")
        row = await self._database.fetchrow(load("find_transfer"), key, call.user)
        if row is None:
            raise NotFound("transfer", str(key))
        return answer(200, answers.transfer(row))

    async def accept(self, call: Call) -> Response:
        return await self._end(call, "accepted")

    async def decline(self, call: Call) -> Response:
        return await self._end(call, "declined")

    async def cancel(self, call: Call) -> Response:
        return await self._end(call, "cancelled")

    async def _end(self, call: Call, status: str) -> Response:
        """If answers race, the first one to lock the group wins."""
        key = call.key("transferId", "transfer")
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(load("find_transfer"), key, call.user)
            if row is None:
                raise NotFound("transfer", str(key))
            party = row["from_user_id"] if status == "cancelled" else row["to_user_id"]
            if call.user != party:
                word = "sender" if status == "cancelled" else "recipient"
                raise Forbidden(f"only the {word} of a transfer may do this")
            await connection.fetchrow(load("lock_group"), row["conversation_id"])
            row = await connection.fetchrow(load("find_transfer"), key, call.user)
            if row is None:
                raise NotFound("transfer", str(key))
            if row["status"] == "pending":
                await self._carry_out(connection, row, status)
            elif row["status"] != status:
                raise Conflict(f"the transfer is {row['status']}", status=row["status"])
            row = await one(connection, "find_transfer", key, call.user)
        return answer(200, answers.transfer(row))

    @staticmethod
    async def _carry_out(connection: asyncpg.Connection, row: Row, status: str) -> None:
        await connection.execute(load("end_transfer"), row["id"], status)
        if status == "accepted":
            former, new = row["from_user_id"], row["to_user_id"]
            await connection.execute(load("change_owner"), row["group_id"], former, new)
            await connection.execute(load("make_owner"), row["group_id"], new)
