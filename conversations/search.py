"""Search: the plugin finds, PostgreSQL decides what may be shown.

A message that the plugin does not have yet is found in the outbox. While the plugin is unavailable,
PostgreSQL's full-text search answers. What the plugin returns is looked up again, so that nothing
is shown that was just deleted or withdrawn.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any
from uuid import UUID

import asyncpg
from starlette.responses import Response

from contract import MAX_LIMIT, BadRequest, MemoryClient, MemoryPluginError, SearchRequest
from conversations import answers
from conversations.answers import Row, answer
from conversations.calls import Call
from conversations.embeddings import Embeddings
from conversations.finds import Find, read_finds
from conversations.highlights import excerpt
from conversations.index import NAMESPACE, WORDS_BYTES, namespace_of
from conversations.statements import load
from postgres.database import Database

MAX_QUERY = 1000
MAX_RESULTS = 100
MAX_CONVERSATIONS = 100
# Namespaces in one request: what the reference plugin accepts, and what any plugin should.
_MOST_NAMESPACES = 5000
_FEWER_NAMESPACES = 1000
_PLUGIN_SECONDS = 2.0
# Extra results, for messages that were just deleted or withdrawn and are still in the plugin.
_SPARE = 10
_WORDS = 500
_AT_ONCE = 500_000  # characters that are marked by one statement
_RANK = 60  # the constant of reciprocal rank fusion

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Question:
    """A search: the query, where to look, and up to which message.

    `namespaces` is where the plugin looks; `groups` are the same groups, or None for all that the
    user sees.
    """

    user: str
    query: str
    top: int
    namespaces: list[str]
    groups: list[UUID] | None
    paths: list[tuple[UUID, int, int]] | None
    before: tuple[datetime, int] | None

    @property
    def wanted(self) -> int:
        """How many to ask the plugin for: more than needed, because some may be filtered out."""
        is_narrow = self.paths is not None or self.before is not None
        return MAX_LIMIT if is_narrow else min(MAX_LIMIT, self.top + _SPARE)

    def arguments(self, second: object, third: object) -> list[object]:
        """The arguments of the statements that search and of the one that filters."""
        paths = self.paths
        moment, sequence = self.before or (None, None)
        return [
            self.user,
            second,
            third,
            None if paths is None else [key for key, _, _ in paths],
            None if paths is None else [first for _, first, _ in paths],
            None if paths is None else [until for _, _, until in paths],
            moment,
            sequence,
        ]


class Search:
    """The handler of `/v1/user/search/messages`."""

    def __init__(self, database: Database, plugin: MemoryClient, embeddings: Embeddings) -> None:
        self._database = database
        self._plugin = plugin
        self._embeddings = embeddings
        self._most_namespaces = _MOST_NAMESPACES

    async def search(self, call: Call) -> Response:
        """The best messages that the user may see."""
        question = await self._question(call)
        if not question.namespaces:
            return answer(200, {"data": [], "backend": "postgres"})
        found = await self._by_plugin(question)
        backend = "plugin"
        if found is None:
            found, backend = await self._by_postgres(question), "postgres"
        return answer(200, {"data": await self._results(found, question.query), "backend": backend})

    async def _question(self, call: Call) -> Question:
        fields = await call.fields()
        query = fields.text("query", MAX_QUERY)
        if query is None or not query.strip():
            raise fields.refuse("query", "is required and must not be blank")
        top = fields.whole("topK", 1, MAX_RESULTS) or 20
        within = fields.uuids("conversationIds", MAX_CONVERSATIONS)
        before_id = fields.uuid("before")
        before = None
        if before_id is not None:
            row = await self._database.fetchrow(load("find_visible"), before_id, call.user)
            if row is None:
                raise fields.refuse("before", "must be a message that you can see")
            before = (row["created_at"], row["sequence"])
        if not within:
            names = await self._database.fetchval(load("groups_of_user"), call.user, NAMESPACE)
            return Question(call.user, query, top, names, None, None, before)
        rows = await self._database.fetch(load("paths_of"), within, call.user)
        groups = list({row["group_id"] for row in rows})
        paths = [(row["id"], row["first"], row["until"]) for row in rows]
        names = [namespace_of(group) for group in groups]
        return Question(call.user, query, top, names, groups, paths, before)

    async def _by_postgres(self, question: Question) -> list[tuple[Row, float]]:
        arguments = question.arguments(question.query, question.groups)
        # Later appends need not be found, so that nobody can keep a search busy by appending.
        newest = await self._database.fetchval(load("newest_in_outbox"))
        # First, so that a message that gets its words in between is not missed.
        waiting, is_cut = await self._waiting(question, without_words=True)
        add_words = (load("add_words"), _WORDS, WORDS_BYTES, question.user, newest)
        while is_cut and await self._database.execute(*add_words):
            pass  # too many to look at one by one
        rows = await self._database.fetch(load("search_words"), *arguments, question.top)
        found: dict[UUID, tuple[Row, float]] = {
            row["id"]: (row, row["score"]) for row in [*waiting, *rows]
        }
        best = sorted(found.values(), key=lambda it: (it[1], it[0]["created_at"]), reverse=True)
        return best[: question.top]

    async def _by_plugin(self, question: Question) -> list[tuple[Row, float]] | None:
        """None if the plugin cannot answer, or found too little that may be shown."""
        # First, so that a message that reaches the plugin in between is not missed.
        waiting, is_cut = await self._waiting(question, without_words=False)
        if is_cut:
            return None  # the plugin is far behind
        try:
            finds, is_cut = await self._ask(question)
        except MemoryPluginError as error:
            log.info("search without the plugin", extra={"reason": type(error).__name__})
            return None
        ids = [find.id for find in finds]
        allowed = await self._database.fetch(load("still_allowed"), *question.arguments("", ids))
        by_id = {row["id"]: row for row in allowed}
        found = [(by_id[find.id], find.score) for find in finds if find.id in by_id]
        merged = _merge(found, [(row, row["score"]) for row in waiting], question.top)
        if is_cut and len(found) < len(finds) and len(merged) < question.top:
            # Results that may not be shown took the place of others.
            return None
        return merged

    async def _waiting(
        self, question: Question, *, without_words: bool
    ) -> tuple[list[asyncpg.Record], bool]:
        """What is found in the outbox, and whether it had more than was searched."""
        arguments = question.arguments(question.query, question.groups)
        rows = await self._database.fetch(
            load("search_outbox"), *arguments, question.top, without_words
        )
        is_cut = bool(rows) and rows[-1]["id"] is None
        return (rows[:-1] if is_cut else rows), is_cut

    async def _ask(self, question: Question) -> tuple[list[Find], bool]:
        """What the plugin finds, best first, and whether there may be more."""
        vector = await self._embeddings.of_query(question.query)
        try:
            pieces = await self._ask_for(question, vector)
        except BadRequest:
            if vector is None:
                raise
            # The plugin may expect vectors of another dimension: use words only.
            pieces = await self._ask_for(question, None)
        finds = [find for piece in pieces for find in piece]
        if len(pieces) > 1:
            finds.sort(key=lambda find: -find.score)
        return finds, any(len(piece) >= question.wanted for piece in pieces)

    async def _ask_for(self, question: Question, vector: list[float] | None) -> list[list[Find]]:
        """The responses for all namespaces, in as many requests as needed."""
        try:
            return await self._ask_in_parts(question, vector, self._most_namespaces)
        except BadRequest:
            if len(question.namespaces) <= _FEWER_NAMESPACES:
                raise
        # Perhaps too many namespaces for this plugin.
        found = await self._ask_in_parts(question, vector, _FEWER_NAMESPACES)
        self._most_namespaces = _FEWER_NAMESPACES
        return found

    async def _ask_in_parts(
        self, question: Question, vector: list[float] | None, size: int
    ) -> list[list[Find]]:
        names = question.namespaces
        request = SearchRequest(
            namespaces=names[:1], query=question.query, embedding=vector, limit=question.wanted
        )
        # We made these names: validating thousands takes longer than sending them.
        requests = [
            request.model_copy(update={"namespaces": names[start : start + size]})
            for start in range(0, len(names), size)
        ]
        bodies = await asyncio.gather(
            *(self._plugin.search_bytes(one, timeout=_PLUGIN_SECONDS) for one in requests)
        )
        return [read_finds(body) for body in bodies]

    async def _results(
        self, found: Sequence[tuple[Row, float]], query: str
    ) -> list[dict[str, Any]]:
        headlines = await self._headlines([row["text"] for row, _ in found], query)
        return [
            {
                "message": answers.message(row),
                "score": score,
                "highlights": excerpt(row["text"], headline, query),
            }
            for (row, score), headline in zip(found, headlines, strict=True)
        ]

    async def _headlines(self, texts: Sequence[str], query: str) -> list[str | None]:
        """An excerpt of each text; long ones share a statement with few others."""
        headlines: list[str | None] = []
        while len(headlines) < len(texts):
            rest = texts[len(headlines) :]
            sizes = accumulate(map(len, rest), initial=0)
            part = [text for text, before in zip(rest, sizes, strict=False) if before < _AT_ONCE]
            rows = await self._database.fetch(load("headlines"), part, query)
            headlines += [row["headline"] for row in rows]
        return headlines


def _merge(
    found: Sequence[tuple[Row, float]], waiting: Sequence[tuple[Row, float]], top: int
) -> list[tuple[Row, float]]:
    """Merge two rankings whose scores cannot be compared, by the positions in each."""
    if not waiting:
        return list(found[:top])
    if not found:
        return list(waiting[:top])
    rows: dict[UUID, Row] = {}
    scores: dict[UUID, float] = {}
    for ranking in (found, waiting):
        for place, (row, _) in enumerate(ranking):
            rows[row["id"]] = row
            share = 1.0 / (_RANK + 1 + place)
            scores[row["id"]] = max(scores.get(row["id"], 0.0), share)
    best = sorted(rows, key=lambda key: -scores[key])[:top]
    return [(rows[key], scores[key]) for key in best]
