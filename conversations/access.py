"""Who may do what: one function decides for every endpoint that has a conversation."""

from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from conversations.batches import Batches
from conversations.errors import Forbidden, NotFound
from conversations.ids import find_uuid
from conversations.statements import load
from postgres.database import Database


class Level(IntEnum):
    """What a member may do; each includes those before it."""

    READER = 1
    WRITER = 2
    MANAGER = 3
    OWNER = 4

    @property
    def word(self) -> str:
        return self.name.lower()


GRANTABLE = ("manager", "writer", "reader")
"""The levels that can be granted; only a transfer makes an owner."""


def level_of(word: str) -> Level:
    return Level[word.upper()]


class Caller(NamedTuple):
    """Who is asking: a user, an agent, or an agent on behalf of a user."""

    user: str | None
    agent: str | None = None


class Grant(NamedTuple):
    """A conversation that a caller may use, and the level; None for an agent without a user."""

    conversation: UUID
    group: UUID
    level: Level | None


class _Found(NamedTuple):
    group: UUID
    level: Level | None


def decide(found: _Found | None, caller: Caller, conversation: UUID, least: Level) -> Grant:
    """Grant access or raise: 404 for strangers, 403 for members below the level.

    An agent with only a key may use every conversation; on behalf of a user, it has that user's
    level.
    """
    if found is None or (found.level is None and caller.user is not None):
        raise NotFound("conversation", str(conversation))
    if found.level is None:
        return Grant(conversation, found.group, None)
    if found.level < least:
        raise Forbidden(f"this requires the level {least.word}; yours is {found.level.word}")
    return Grant(conversation, found.group, found.level)


class Access:
    """Looks up what `decide` needs, in one statement for all concurrent requests.

    Nothing is cached: a membership change applies to every request that starts after it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._batches = Batches(self._find)

    async def enter(self, caller: Caller, conversation: str, least: Level) -> Grant:
        """The conversation in a path, for a caller with at least this level."""
        key = find_uuid(conversation)
        if key is None:
            raise NotFound("conversation", conversation)
        return decide(await self._batches.ask((key, caller.user)), caller, key, least)

    async def _find(self, asked: list[tuple[UUID, str | None]]) -> list[_Found | None]:
        rows = await self._database.fetch(
            load("find_access"), [key for key, _ in asked], [user for _, user in asked]
        )
        found: list[_Found | None] = [None] * len(asked)
        for row in rows:
            level = None if row["level"] is None else Level(row["level"])
            found[row["place"] - 1] = _Found(row["group_id"], level)
        return found
