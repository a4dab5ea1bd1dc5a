"""Where a search looks: the namespaces of a chat, of resources, or of everything a user has."""

import hmac
from collections import OrderedDict
from typing import NamedTuple

from gateway.credentials import Credentials
from gateway.names import chat
from gateway.statements import load
from gateway.users import recognise
from gateway.wire import SearchRequest
from postgres.database import Database

_MOST_REMEMBERED = 2_000
# Of all scopes together: 6 MiB.
_MOST_NAMESPACES = 50_000


class Scope(NamedTuple):
    """Which memories of which user are searched; the first arguments of the statements."""

    user_id: str
    app_id: str
    project_id: str
    chat: str | None
    resources: bool
    everything: bool

    @classmethod
    def of(cls, user_id: str, request: SearchRequest) -> "Scope":
        conversation = request.conversation_id if "current_chat" in request.scope else None
        return cls(
            user_id,
            request.app_id,
            request.project_id,
            None if conversation is None else chat(conversation),
            "resources" in request.scope,
            "all_user_memory" in request.scope,
        )


class Namespaces(NamedTuple):
    """The namespaces of a scope, and the user's `scope_version` when they were read."""

    names: list[str]
    version: int


class _Known(NamedTuple):
    key_sha256: bytes
    namespaces: Namespaces


class Scopes:
    """Reads the namespaces of scopes, and remembers them for the next search.

    That search checks the namespaces and the key afterwards, in the statement that describes its
    results: one statement instead of two, and the sessions of a user are not read every time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._remembered: OrderedDict[Scope, _Known] = OrderedDict()
        self._count = 0

    async def namespaces(self, scope: Scope, given: Credentials) -> Namespaces:
        """The namespaces as they are now; `Unauthorized` for a wrong key."""
        row = await self._database.fetchrow(load("find_scope"), *scope, given.key_sha256)
        recognise(given, row)
        if row is None:
            return Namespaces([], 0)
        found = Namespaces(row["namespaces"], row["scope_version"])
        self._remember(scope, _Known(given.key_sha256, found))
        return found

    def remembered(self, scope: Scope, given: Credentials) -> Namespaces | None:
        """The namespaces as they were last read with this key."""
        known = self._remembered.get(scope)
        if known is None or not hmac.compare_digest(known.key_sha256, given.key_sha256):
            return None
        return known.namespaces

    def forget(self, scope: Scope) -> None:
        known = self._remembered.pop(scope, None)
        if known is not None:
            self._count -= len(known.namespaces.names)

    def _remember(self, scope: Scope, known: _Known) -> None:
        self.forget(scope)
        self._remembered[scope] = known
        self._count += len(known.namespaces.names)
        while len(self._remembered) > _MOST_REMEMBERED or self._count > _MOST_NAMESPACES:
            self.forget(next(iter(self._remembered)))
