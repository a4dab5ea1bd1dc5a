"""`POST /memories/search`: the best memories of the asked scopes, ranked together."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import contract
from contract import MAX_LIMIT, Memory
from gateway.credentials import Credentials
from gateway.errors import Unavailable
from gateway.models import Models
from gateway.names import chat
from gateway.plugin import Plugin
from gateway.results import result
from gateway.statements import load
from gateway.users import recognise
from gateway.wire import NARROWEST_FIRST, Scope, SearchRequest
from postgres.database import Database

_QUERY_BEGIN = 600
_QUERY_END = 200
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Found:
    memory: Memory
    score: float


class Search:
    """Finds memories; what the gateway does not know, or has deleted, is never returned."""

    def __init__(self, database: Database, plugin: Plugin, models: Models) -> None:
        self._database = database
        self._plugin = plugin
        self._models = models

    async def search(self, given: Credentials, request: SearchRequest) -> list[dict[str, Any]]:
        """At most `top_k` results for the user whose credentials these are."""
        name = None if request.conversation_id is None else chat(request.conversation_id)
        scope = await self._database.fetchrow(
            load("find_scope"),
            given.user_id,
            request.app_id,
            request.project_id,
            name if "current_chat" in request.scope else None,
            "resources" in request.scope,
            "all_user_memory" in request.scope,
            given.key_sha256,
        )
        user = recognise(given, scope)
        namespaces = scope["namespaces"] if scope is not None else []
        if not namespaces:
            return []
        query = shortened(request.query)
        try:
            return await self._best(user.id, namespaces, query, request, name)
        except contract.MemoryPluginError as error:
            raise Unavailable(
                "the memory plugin does not respond to searches now",
                retry_after=getattr(error, "retry_after", None),
            ) from None

    async def _best(
        self,
        owner: int,
        namespaces: list[str],
        query: str,
        request: SearchRequest,
        name: str | None,
    ) -> list[dict[str, Any]]:
        if not await self._plugin.searches_words():
            found = rank_by_words(await self._plugin.newest(namespaces), query)
            return await self._describe(owner, found, request, name)
        embedding = await self._models.embed_query(query)
        # Some may be deleted, or have the text of another: then there must be more to take from.
        limit = min(MAX_LIMIT, request.top_k + 8)
        while True:
            memories = await self._plugin.search(namespaces, query, embedding, limit)
            found = [_Found(it, it.score or 0.0) for it in memories]
            results = await self._describe(owner, found, request, name)
            is_all = limit == MAX_LIMIT or len(memories) < limit
            if len(results) == request.top_k or is_all:
                return results
            limit = MAX_LIMIT

    async def _describe(
        self, owner: int, found: list[_Found], request: SearchRequest, name: str | None
    ) -> list[dict[str, Any]]:
        ids = [it.memory.id for it in found]
        rows = await self._database.fetch(load("describe_memories"), owner, ids) if ids else []
        known: dict[UUID, Any] = {row["id"]: row for row in rows}

        def rank(it: _Found) -> tuple[float, float, UUID]:
            return -it.score, -known[it.memory.id]["created_at"].timestamp(), it.memory.id

        def scope(it: _Found) -> Scope:
            return narrowest(known[it.memory.id], request.scope, name)

        # Of memories with the same text and score, the one that is nearest to the chat is shown.
        by_text: dict[str, _Found] = {}
        shown = (it for it in found if it.memory.id in known)
        for it in sorted(
            shown, key=lambda it: (-it.score, NARROWEST_FIRST.index(scope(it)), rank(it))
        ):
            by_text.setdefault(it.memory.content, it)
        best = sorted(by_text.values(), key=rank)[: request.top_k]
        return [
            result(known[it.memory.id], it.memory.content, score=it.score, scope=scope(it))
            for it in best
        ]


def narrowest(row: Any, scopes: Iterable[str], name: str | None) -> Scope:
    """The narrowest of the asked scopes in which the memory is."""
    if "current_chat" in scopes and row["name"] == name:
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


def rank_by_words(memories: Iterable[Memory], query: str) -> list[_Found]:
    """For a plugin that does not look at the query: what has words of it, by their share."""
    words = set(_WORD.findall(query.casefold()))
    found = []
    for memory in memories:
        text = memory.content.casefold()
        shared = words & set(_WORD.findall(text))
        score = len(shared) / len(words) if words else 0.0
        # Scripts without spaces, and queries without words.
        if not score and query.casefold() in text:
            score = 1.0
        if score:
            found.append(_Found(memory, score))
    return found
