"""Search, for now newest first only."""

from typing import Any

from contract import SearchRequest
from plugin_postgres import rows
from plugin_postgres.database import Database


async def search(database: Database, request: SearchRequest) -> list[dict[str, Any]]:
    """At most `limit` memories of the named namespaces, best first."""
    found = await database.fetch(
        "SELECT r.id, r.namespace, r.content, r.kind, r.source, r.created_at, r.expires_at,"
        " r.propagation, r.pin FROM memory_plugin.memory_records AS r"
        " JOIN memory_plugin.memory_namespaces AS n ON n.name = r.namespace"
        " WHERE n.name = ANY($1) AND (n.expires_at IS NULL OR n.expires_at > now())"
        " AND (r.expires_at IS NULL OR r.expires_at > now())"
        " AND ($2::text IS NULL OR r.content ILIKE '%' || $2 || '%')"
        " ORDER BY r.pin DESC, r.created_at DESC, r.id LIMIT $3",
        request.namespaces,
        request.query,
        request.limit,
    )
    return [rows.memory(row) for row in found]
