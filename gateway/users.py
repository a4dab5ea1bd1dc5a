"""Users and their keys. Only the SHA-256 of a key is stored."""

import hmac
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contract import format_time
from gateway.credentials import Credentials, hash_key
from gateway.errors import Conflict, NotFound, Unauthorized
from gateway.names import new_key
from gateway.rounds import Rounds
from gateway.statements import load
from postgres.database import Database

_NOBODY = bytes(32)
_MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class User:
    """A user whose key was valid a moment ago."""

    id: int
    user_id: str
    created_at: datetime
    key_sha256: bytes = field(repr=False)


class Users:
    """The users of one gateway."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lookups: Rounds[str, Any] = Rounds(self._look_up)
        self._remembered: OrderedDict[str, User] = OrderedDict()

    async def create(self, user_id: str) -> dict[str, Any]:
        """Create a user with a key, which is shown only once; `Conflict` if the user exists."""
        key = new_key()
        row = await self._database.fetchrow(load("create_user"), user_id, hash_key(key))
        if row is None:
            raise Conflict("user_id: this user already exists, or is still being deleted")
        return _user_key(user_id, key, row["created_at"])

    async def rotate_key(self, user_id: str) -> dict[str, Any]:
        """Replace the key; the old one stops working at once, in every worker."""
        key = new_key()
        row = await self._database.fetchrow(load("rotate_key"), user_id, hash_key(key))
        if row is None:
            raise NotFound("this user does not exist")
        return _user_key(user_id, key, row["created_at"])

    async def authenticate(self, given: Credentials) -> User:
        """The user whose key this is, or `Unauthorized`.

        It queries the database every time, so that a replaced key fails at once. Requests that
        arrive during a query share the next one.
        """
        user = recognise(given, await self._lookups.take_part(given.user_id))
        self._remembered[user.user_id] = user
        if len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.popitem(last=False)
        return user

    def remembered(self, given: Credentials) -> User | None:
        """The user who had this key when it was last checked.

        Only for a statement that checks `key_sha256` itself. A user who is not found here may still
        be found by `authenticate`.
        """
        user = self._remembered.get(given.user_id)
        if user is None or not hmac.compare_digest(user.key_sha256, given.key_sha256):
            return None
        return user

    def forget(self, user: User) -> None:
        """What is remembered about the user is out of date."""
        self._remembered.pop(user.user_id, None)

    async def find(self, user_id: str) -> User:
        """A user by name, for an admin; `NotFound` when there is none."""
        row = await self._lookups.take_part(user_id)
        if row is None:
            raise NotFound("this user does not exist")
        return _user(row)

    async def _look_up(self, names: list[str]) -> list[Any]:
        rows = await self._database.fetch(load("find_users"), list(set(names)))
        found = {row["user_id"]: row for row in rows}
        return [found.get(name) for name in names]


def recognise(given: Credentials, row: Any) -> User:
    """The user of a row, or `Unauthorized` for a wrong key. A missing row takes as long."""
    stored = _NOBODY if row is None else row["key_sha256"]
    if not hmac.compare_digest(stored, given.key_sha256) or row is None:
        raise Unauthorized
    return _user(row)


def _user(row: Any) -> User:
    return User(row["id"], row["user_id"], row["created_at"], row["key_sha256"])


def _user_key(user_id: str, key: str, created_at: datetime) -> dict[str, Any]:
    return {"user_id": user_id, "user_key": key, "created_at": format_time(created_at)}
