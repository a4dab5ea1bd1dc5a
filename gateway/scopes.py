"""Where a search looks: the namespaces of a chat, of resources, or of all that a user has."""

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
# More are not worth sending to the database to be compared.
_MOST_COMPARED = 32


class Scope(NamedTuple):
    """Whose memories are searched, and which: the first arguments of the statements."""

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


class _Known(NamedTuple):
    key_sha256: bytes
    namespaces: list[str]


class Scopes:
    """The namespaces of scopes, and those that a search may try without asking first.

    Such a search has the database compare them afterwards, in the statement that describes what it
    found, and makes sure of the key there. So a chat is searched with one statement and not two.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._remembered: OrderedDict[Scope, _Known] = OrderedDict()

    async def namespaces(self, scope: Scope, given: Credentials) -> list[str]:
        """The namespaces as they are now; `Unauthorized` for another key than the user's."""
        row = await self._database.fetchrow(load("find_scope"), *scope, given.key_sha256)
        recognise(given, row)
        found: list[str] = [] if row is None else row["namespaces"]
        if 0 < len(found) <= _MOST_COMPARED:
            self._remembered[scope] = _Known(given.key_sha256, found)
            if len(self._remembered) > _MOST_REMEMBERED:
                self._remembered.popitem(last=False)
        return found

    def remembered(self, scope: Scope, given: Credentials) -> list[str] | None:
        """What the namespaces were when the database was last asked, by somebody with this key."""
        known = self._remembered.get(scope)
        if known is None or not hmac.compare_digest(known.key_sha256, given.key_sha256):
            return None
        return known.namespaces

    def forget(self, scope: Scope) -> None:
        self._remembered.pop(scope, None)
