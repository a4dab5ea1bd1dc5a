"""Search: newest first, by words, by embedding, or by both."""

from typing import Any

from contract import SearchRequest
from plugin_postgres import jsonb, rows, sql, vectors
from plugin_postgres.database import Database
from plugin_postgres.newest import NewestQueue
from plugin_postgres.pgvector import MAX_DIMENSION


async def search(
    database: Database, newest: NewestQueue, request: SearchRequest
) -> list[dict[str, Any]]:
    """At most `limit` memories of the named namespaces, best first."""
    query = request.query if request.query and not request.query.isspace() else None
    vector = request.embedding if database.serves_vectors else None
    if vector is not None and len(vector) > MAX_DIMENSION:
        # No memory has one as long, so it finds nothing.
        if query is None:
            return []
        vector = None
    if query is None and vector is None and not _is_filtered(request):
        return await newest.find(list(set(request.namespaces)), request.limit)
    statement, arguments = statement_for(request, query, vector)
    return [rows.memory(row) for row in await database.fetch(statement, *arguments)]


def statement_for(
    request: SearchRequest, query: str | None, vector: list[float] | None
) -> tuple[str, list[object]]:
    """The statement that answers a request, and its arguments."""
    namespaces = list(set(request.namespaces))
    kinds = sorted(set(request.kinds)) if request.kinds else None
    where = jsonb.store(request.where)
    arguments: list[object] = [namespaces, kinds, request.limit]
    arguments += [where, request.created_after, request.created_before]
    if query is not None and vector is not None:
        hybrid = vectors.statement("search_hybrid", vector, request.limit, "$8")
        return hybrid, [*arguments, query, vector]
    if vector is not None:
        nearest = vectors.statement("search_embedding", vector, request.limit, "$7")
        return nearest, [*arguments, vector]
    if query is not None:
        return sql.load("search_text"), [*arguments, query]
    if where is not None:
        return sql.load("search_newest_where"), arguments
    return sql.load("search_newest_of_kinds"), [*arguments[:3], *arguments[4:]]


def _is_filtered(request: SearchRequest) -> bool:
    return bool(request.kinds or request.where or request.created_after or request.created_before)
