"""`POST /memories/search`: the best memories in the requested scopes, ranked together."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
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
_RANK_CONSTANT = 60


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
                except contract.MemoryPluginError:
                    # The key was to be checked with the results: `Unauthorized` if it is wrong.
                    await self._scopes.namespaces(scope, given)
                    raise
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
        limit = min(MAX_LIMIT, top_k + _SPARE)
        if not await self._plugin.searches_words():
            found = rank_by_words(await self._plugin.memories(names), query)
            if self._models.embeds and await self._plugin.searches_vectors():
                embedding = await self._models.embed_query(query)
                if embedding is not None:
                    found = fused(found, await self._plugin.nearest(names, embedding, limit))
            return await self._describe(asked, found)
        embedding = await self._models.embed_query(query)
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
        ids = [memory_id for memory_id, _, _ in found]
        described = await self._lookups.take_part(_Lookup(given.user_id, ids))
        if described is None or not compare_digest(described.key_sha256, given.key_sha256):
            raise Unauthorized
        if asked.is_guess and described.scope_version != asked.namespaces.version:
            raise _Outdated
        known = described.rows
        chat, scopes = asked.scope.chat, asked.request.scope

        def scope_of(memory_id: str) -> ScopeName:
            return narrowest(known[memory_id], scopes, chat)

        ranked = _ranked([it for it in found if it[0] in known], known)
        shown = _without_repeats(ranked, scope_of)[: asked.request.top_k]
        return [
            result(known[memory_id], text, score=score, scope=scope_of(memory_id))
            for memory_id, text, score in shown
        ]

    async def _look_up(self, searches: list[_Lookup]) -> list[_Described | None]:
        """What the gateway knows about the memories that these searches found, and their users."""
        users = {user_id for user_id, _ in searches}
        ids = {it for _, found in searches for it in found}
        rows = await self._database.fetch(load("describe_memories"), list(users), list(ids))
        described: dict[str, _Described] = {}
        known: defaultdict[int, dict[str, Any]] = defaultdict(dict)
        for row in rows:
            owner, memory_id = row["owner"], row["id"]
            if memory_id is not None:
                known[owner][memory_id] = row
            else:
                key, version = row["key_sha256"], row["scope_version"]
                described[row["user_id"]] = _Described(key, version, known[owner])
        return [described.get(user_id) for user_id, _ in searches]


def _ranked(found: list[Found], known: dict[str, Any]) -> list[Found]:
    """Best first, then newest, then lowest id."""

    def rank(it: Found) -> tuple[float, datetime]:
        memory_id, _, score = it
        return score, known[memory_id]["created_at"]

    return sorted(sorted(found), key=rank, reverse=True)


def _without_repeats(ranked: list[Found], scope_of: Callable[[str], ScopeName]) -> list[Found]:
    """Of memories with the same text, the best; if equal, the one in the narrowest scope."""
    if len({text for _, text, _ in ranked}) == len(ranked):
        return ranked

    def preference(it: Found) -> tuple[float, int]:
        memory_id, _, score = it
        return -score, NARROWEST_FIRST.index(scope_of(memory_id))

    shown: dict[str, Found] = {}
    for it in sorted(ranked, key=preference):
        shown.setdefault(it[1], it)
    return [it for it in ranked if shown[it[1]] is it]


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
    for memory_id, text, _ in memories:
        folded = text.casefold()
        shared = words & set(_WORD.findall(folded))
        score = len(shared) / len(words) if words else 0.0
        # Scripts without spaces, and queries without words. A whole word counts for more.
        if not score and query.casefold() in folded:
            score = _PART_OF_WORD / max(1, len(words))
        if score:
            found.append((memory_id, text, score))
    return found


def fused(*lists: list[Found]) -> list[Found]:
    """Reciprocal rank fusion, because scores of different kinds cannot be compared.

    What is near the top of either list is near the top of the result.
    """
    texts: dict[str, str] = {}
    scores: defaultdict[str, float] = defaultdict(float)
    for found in lists:
        best_first = sorted(found, key=lambda it: it[2], reverse=True)
        for place, (memory_id, text, _) in enumerate(best_first, 1):
            texts[memory_id] = text
            scores[memory_id] += 1 / (_RANK_CONSTANT + place)
    return [(memory_id, text, scores[memory_id]) for memory_id, text in texts.items()]
