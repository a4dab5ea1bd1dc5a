"""Search: newest first, by words, by embedding, or by both."""

from collections.abc import Sequence
from typing import Any

from contract import SearchRequest
from plugin_postgres import jsonb, rows, sql, vectors
from plugin_postgres.arrays import text_array
from plugin_postgres.commonness import Commonness
from plugin_postgres.database import Database
from plugin_postgres.lexicon import Fetch, Lexicon
from plugin_postgres.newest import NewestQueue
from plugin_postgres.pgvector import MAX_DIMENSION
from plugin_postgres.question import understand
from plugin_postgres.words import WordSearch


class Search:
    """Every kind of search."""

    def __init__(self, database: Database, newest: NewestQueue) -> None:
        self._database = database
        self._newest = newest
        self._lexicon = Lexicon()
        self._commonness = Commonness()

    async def find(self, request: SearchRequest) -> list[dict[str, Any]]:
        """At most `limit` memories of the named namespaces, best first."""
        query = request.query if request.query and not request.query.isspace() else None
        vector = request.embedding if self._database.serves_vectors else None
        if vector is not None and len(vector) > MAX_DIMENSION:
            # No memory has such a long one, so it finds nothing.
            if query is None:
                return []
            vector = None
        if query is None and vector is None and not _is_filtered(request):
            return await self._newest.find(list(set(request.namespaces)), request.limit)
        found = await find_rows(
            self._database.fetch, self._lexicon, self._commonness, request, query, vector
        )
        return [rows.memory(*row) for row in found]

    def forget_samples(self) -> None:
        """Forget which words are common, for example because a namespace was deleted."""
        self._commonness.forget()


async def find_rows(
    fetch: Fetch,
    lexicon: Lexicon,
    commonness: Commonness,
    request: SearchRequest,
    query: str | None,
    vector: list[float] | None,
) -> Sequence[Sequence[Any]]:
    """The rows that answer a request with a query, an embedding or a filter."""
    if query is not None:
        question = understand(await lexicon.read(fetch, query))
        return await WordSearch(fetch, lexicon, commonness, request, question, vector).rows()
    statement, arguments = statement_for(request, vector)
    return await fetch(statement, *arguments)


def statement_for(request: SearchRequest, vector: list[float] | None) -> tuple[str, list[object]]:
    """The statement that answers a request without a query, and its arguments."""
    namespaces = list(set(request.namespaces))
    kinds = sorted(set(request.kinds)) if request.kinds else None
    where = jsonb.store(request.where)
    arguments: list[object] = [namespaces, kinds, request.limit]
    arguments += [where, request.created_after, request.created_before]
    if vector is not None:
        nearest = vectors.statement("search_embedding", vector, request.limit, "$7")
        return nearest, [text_array(namespaces), *arguments[1:], vector]
    if where is not None:
        return sql.load("search_newest_where"), arguments
    return sql.load("search_newest_of_kinds"), [*arguments[:3], *arguments[4:]]


def _is_filtered(request: SearchRequest) -> bool:
    return bool(request.kinds or request.where or request.created_after or request.created_before)
