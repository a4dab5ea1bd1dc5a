"""`POST /memories/add`: messages are durable once it responds, and none is stored twice."""

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import asyncpg
import orjson
from asyncpg import ForeignKeyViolationError

from gateway.additions import Addition
from gateway.credentials import Credentials
from gateway.errors import BadRequest, Conflict, Unauthorized
from gateway.names import SessionName
from gateway.recent import Added, Recent
from gateway.rounds import Rounds
from gateway.statements import load
from gateway.users import User, Users
from postgres.database import Database

_LONGEST_KEY = 255
_SHORT_WORD = 15


class _Place(NamedTuple):
    """A session, its owner, and the key that the request was made with."""

    owner: int
    key_sha256: bytes
    session: SessionName


class _Add(NamedTuple):
    """One request; secrets in its messages are already replaced."""

    place: _Place
    rows: list[Added]

    @property
    def sha256(self) -> bytes:
        session = self.place.session
        where = [session.app_id, session.project_id, session.name]
        digests = b"".join(it.digest for it in self.rows)
        return hashlib.sha256(orjson.dumps(where) + digests).digest()


class Messages:
    """The buffers of all sessions. They do not need the plugin."""

    def __init__(
        self, database: Database, users: Users, recent: Recent, redact: Callable[[str], str]
    ) -> None:
        self._database = database
        self._users = users
        self._recent = recent
        self._redact = redact
        self._rounds: Rounds[_Add, int] = Rounds(self._store)

    async def add(
        self, given: Credentials, request: Addition, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        if idempotency_key is None:
            duplicates = await self._add(given, request)
        else:
            user = await self._users.authenticate(given)
            key = _checked(idempotency_key)
            try:
                duplicates = await self._add_once(self._prepare(user, request), key)
            except ForeignKeyViolationError:
                raise Unauthorized from None  # the user has just been deleted
        return {
            "status": "accumulated",
            "session_id": request.session_id,
            "message_count": len(request.messages),
            "duplicate_count": duplicates,
        }

    async def _add(self, given: Credentials, request: Addition) -> int:
        """Add for a user whose key was checked recently; the statement itself verifies it again."""
        user = self._users.remembered(given)
        if user is not None:
            try:
                return await self._rounds.take_part(self._prepare(user, request))
            except Unauthorized:
                self._users.forget(user)
        user = await self._users.authenticate(given)
        return await self._rounds.take_part(self._prepare(user, request))

    def _prepare(self, user: User, request: Addition) -> _Add:
        session = SessionName(user.user_id, request.app_id, request.project_id, request.session_id)
        rows = []
        occurrences: dict[bytes, int] = {}
        for role, sender_id, timestamp, content in request.messages:
            content = self._redact(content)
            # A short word cannot contain a secret.
            if len(sender_id) > _SHORT_WORD or not sender_id.isalnum():
                sender_id = self._redact(sender_id)
            encoded = orjson.dumps((role, sender_id, timestamp, content))
            occurrences[encoded] = occurrence = occurrences.get(encoded, 0) + 1
            digest = hashlib.sha256(encoded + b"%d" % occurrence).digest()
            rows.append(Added(digest, role, sender_id, timestamp, content))
        return _Add(_Place(user.id, user.key_sha256, session), rows)

    async def _add_once(self, add: _Add, key: str) -> int:
        """The same request with the same key always gets the same answer."""
        async with self._database.transaction() as connection:
            owner = add.place.owner
            claimed = await connection.execute(load("claim_key"), owner, key, add.sha256)
            if claimed.endswith(" 1"):
                [duplicates] = await _store(connection, [add])
                if isinstance(duplicates, Unauthorized):
                    raise duplicates
                await connection.execute(load("settle_key"), owner, key, duplicates)
                return duplicates
            known = await connection.fetchrow(load("find_key"), owner, key)
        if known is None or known["request_sha256"] != add.sha256:
            raise Conflict("Idempotency-Key: was already used for a different request")
        return int(known["duplicate_count"])

    async def _store(self, adds: list[_Add]) -> list[Any]:
        try:
            async with self._database.connection() as connection:
                outcomes = await _store(connection, adds)
            for add, outcome in zip(adds, outcomes, strict=True):
                if outcome == 0:
                    self._recent.remember(add.place.session, add.rows)
                else:
                    self._recent.forget(add.place.session)
            return outcomes
        except ForeignKeyViolationError:
            if len(adds) == 1:
                raise Unauthorized from None  # the user has just been deleted
        return [await self._store_alone(add) for add in adds]

    async def _store_alone(self, add: _Add) -> Any:
        try:
            return (await self._store([add]))[0]
        except Unauthorized as refusal:
            return refusal


async def _store(connection: asyncpg.Connection, adds: list[_Add]) -> list[int | Unauthorized]:
    """Store the new messages, and count the known ones of each request.

    The outcome is `Unauthorized` for a request whose user has a new key by now, or is gone.
    """
    places: dict[_Place, int] = {}
    fresh: dict[tuple[int, bytes], tuple[Any, ...]] = {}
    asked = []
    for add in adds:
        place = places.setdefault(add.place, len(places) + 1)
        own = []
        for row in add.rows:
            message = place, row.digest
            # If two requests of a round have the same message, it is new in the first.
            if message not in fresh:
                fresh[message] = (place, *row)
                own.append(message)
        asked.append((place, len(add.rows), own))
    sessions = [
        (owner, key_sha256, *session[1:], session.new_namespace())
        for owner, key_sha256, session in places
    ]
    answer: Any = await connection.fetchrow(load("add_messages"), sessions, list(fresh.values()))
    valid = set(answer["places"])
    if answer["stored"] is not None:  # NULL means that all were new
        new = set(map(tuple, answer["stored"]))
        asked = [(place, count, [it for it in own if it in new]) for place, count, own in asked]
    return [count - len(own) if place in valid else Unauthorized() for place, count, own in asked]


def _checked(key: str) -> str:
    if not 1 <= len(key) <= _LONGEST_KEY or not (key.isascii() and key.isprintable()):
        raise BadRequest.about("Idempotency-Key", "must be 1 to 255 printable ASCII characters")
    return key
