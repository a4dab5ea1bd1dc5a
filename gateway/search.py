"""`POST /memories/search`: the best memories in the requested scopes, ranked together."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any, NamedTuple

import contract
from contract import MAX_LIMIT
from gateway.credentials import Credentials
from gateway.errors import Unauthorized, Unavailable
from gateway.models import Models
from gateway.plugin import Found, Plugin
from gateway.results import result
from gateway.rounds import Rounds
from gateway.scopes import Namespaces, Scope, Scopes
from gateway.statements import load
from gateway.wire import NARROWEST_FIRST, ScopeName, SearchRequest
from postgres.database import Database

# A few more than requested: some may be deleted, or have the same text as another.
_SPARE = 2
# Of searches that share a statement.
_MOST_LOOKUPS = 50
_QUERY_BEGIN = 600
_QUERY_END = 200
_WORD = re.compile(r"\w+")
_PART_OF_WORD = 0.5


class _Ranked(NamedTuple):
    """A memory that was found; the first fields are its rank: best, newest, lowest id."""

    minus_score: float
    minus_created_at: float
    id: str
    text: str
    row: Any


@dataclass(frozen=True, slots=True)
class _Question:
    """A search, its caller, and the namespaces to search.

    `is_guess` means that namespaces and key are those of an earlier search and must be checked.
    """

    given: Credentials
    request: SearchRequest
    scope: Scope
    namespaces: Namespaces
    is_guess: bool


class _Lookup(NamedTuple):
    """The user of a search, and the memories it has found."""

    user_id: str
    ids: list[str]


class _Described(NamedTuple):
    """A user, and rows about memories of this user by id; some may be of other searches."""

    key_sha256: bytes
    scope_version: int
    rows: dict[str, Any]


class _Outdated(Exception):
    """The guess was wrong: the scope has other namespaces now."""


class Search:
    """Finds memories; what the gateway does not know, or has deleted, is never returned."""

    def __init__(self, database: Database, plugin: Plugin, models: Models) -> None:
        self._database = database
        self._plugin = plugin
        self._models = models
        self._scopes = Scopes(database)
        self._lookups: Rounds[_Lookup, _Described | None] = Rounds(self._look_up, _MOST_LOOKUPS)

    async def search(self, given: Credentials, request: SearchRequest) -> list[dict[str, Any]]:
        """At most `top_k` results for the user with these credentials."""
        scope = Scope.of(given.user_id, request)
        try:
            guess = self._scopes.remembered(scope, given)
            if guess is not None:
                try:
                    return await self._best(_Question(given, request, scope, guess, is_guess=True))
                except (_Outdated, Unauthorized):
                    self._scopes.forget(scope)
            namespaces = await self._scopes.namespaces(scope, given)
            if not namespaces.names:
                return []
            return await self._best(_Question(given, request, scope, namespaces, is_guess=False))
        except contract.MemoryPluginError as error:
            raise Unavailable(
                "the memory plugin does not respond to searches now",
                retry_after=getattr(error, "retry_after", None),
            ) from None

    async def _best(self, asked: _Question) -> list[dict[str, Any]]:
        query, top_k = shortened(asked.request.query), asked.request.top_k
        names = asked.namespaces.names
        if not names:
            return await self._describe(asked, [])
        if not await self._plugin.searches_words():
            found = rank_by_words(await self._plugin.memories(names), query)
            return await self._describe(asked, found)
        embedding = await self._models.embed_query(query)
        limit = min(MAX_LIMIT, top_k + _SPARE)
        while True:
            found = await self._plugin.search(names, query, embedding, limit)
            results = await self._describe(asked, found)
            is_all = limit == MAX_LIMIT or len(found) < limit
            if len(results) == top_k or is_all:
                return results
            limit = MAX_LIMIT

    async def _describe(self, asked: _Question, found: list[Found]) -> list[dict[str, Any]]:
        """The best memories as results. Those that were deleted are dropped here."""
        given = asked.given
        described = await self._lookups.take_part(_Lookup(given.user_id, [it.id for it in found]))
        if described is None or not compare_digest(described.key_sha256, given.key_sha256):
            raise Unauthorized
        if asked.is_guess and described.scope_version != asked.namespaces.version:
            raise _Outdated
        known = described.rows
        chat, scopes = asked.scope.chat, asked.request.scope
        by_text: dict[str, _Ranked] = {}
        for it in found:
            row = known.get(it.id)
            if row is None:
                continue
            this = _Ranked(-it.score, -row["created_at"].timestamp(), it.id, it.text, row)
            other = by_text.setdefault(it.text, this)
            if other is not this and _is_shown_first(this, other, scopes, chat):
                by_text[it.text] = this
        return [
            result(it.row, it.text, score=-it.minus_score, scope=narrowest(it.row, scopes, chat))
            for it in sorted(by_text.values(), key=_rank)[: asked.request.top_k]
        ]

    async def _look_up(self, searches: list[_Lookup]) -> list[_Described | None]:
        """What the gateway knows about the memories that these searches found, and their users."""
        users = {user_id for user_id, _ in searches}
        ids = {it for _, found in searches for it in found}
        rows = await self._database.fetch(load("describe_memories"), list(users), list(ids))
        described: dict[str, _Described] = {}
        for row in rows:
            user_id = row["user_id"]
            if user_id not in described:
                described[user_id] = _Described(row["key_sha256"], row["scope_version"], {})
            described[user_id].rows[row["id"]] = row
        return [described.get(user_id) for user_id, _ in searches]


def _rank(it: _Ranked) -> tuple[float, float, str]:
    return it[:3]


def _is_shown_first(one: _Ranked, other: _Ranked, scopes: Iterable[str], chat: str | None) -> bool:
    """Of memories with the same text and score, the one in the narrowest scope is shown."""

    def key(it: _Ranked) -> tuple[float, int, tuple[float, float, str]]:
        distance = NARROWEST_FIRST.index(narrowest(it.row, scopes, chat))
        return it.minus_score, distance, _rank(it)

    return key(one) < key(other)


def narrowest(row: Any, scopes: Iterable[str], chat: str | None) -> ScopeName:
    """The narrowest of the requested scopes that contains the memory."""
    if "current_chat" in scopes and row["name"] == chat:
        return "current_chat"
    if "resources" in scopes and row["is_resource"]:
        return "resources"
    return "all_user_memory"


def shortened(query: str) -> str:
    """The beginning and the end of a long query: that is where people say what they want."""
    query = query.strip()
    if len(query) <= _QUERY_BEGIN + _QUERY_END:
        return query
    begin = query[:_QUERY_BEGIN].rpartition(" ")[0] or query[:_QUERY_BEGIN]
    end = query[-_QUERY_END:].partition(" ")[2] or query[-_QUERY_END:]
    return f"{begin} {end}"


def rank_by_words(memories: Iterable[Found], query: str) -> list[Found]:
    """For a plugin without text search: memories that share words with the query."""
    words = set(_WORD.findall(query.casefold()))
    found = []
    for memory in memories:
        text = memory.text.casefold()
        shared = words & set(_WORD.findall(text))
        score = len(shared) / len(words) if words else 0.0
        # Scripts without spaces, and queries without words. A whole word counts for more.
        if not score and query.casefold() in text:
            score = _PART_OF_WORD / max(1, len(words))
        if score:
            found.append(memory._replace(score=score))
    return found
