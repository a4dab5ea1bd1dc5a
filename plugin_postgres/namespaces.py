"""Namespaces: created, refreshed, patched, deleted; an expired one is recreated empty.

Rows go in small batches, never all in one statement: a namespace may hold millions, and a
long statement would keep writers of other namespaces waiting.
"""

from datetime import timedelta
from typing import Any

from contract import NamespacePatch, NamespaceUpsert, NotFound, Unavailable
from plugin_postgres import jsonb, rows, sql
from plugin_postgres.database import Database

_BATCH = 1000
_ATTEMPTS = 5


async def put(database: Database, name: str, body: NamespaceUpsert) -> dict[str, Any]:
    """Create or refresh. Callers do this before every write, so a PUT without changes writes
    nothing."""
    metadata = jsonb.store(body.metadata)
    named = body.model_fields_set
    for _ in range(_ATTEMPTS):
        stored = await database.fetchrow(sql.load("find_namespace"), name)
        if stored is None:
            stored = await database.fetchrow(
                sql.load("create_namespace"), name, body.kind, body.expires_at, metadata
            )
        elif stored["expired"]:
            stored = await _recreate(database, name, body)
        elif stored["kind"] != body.kind or named & {"expires_at", "metadata"}:
            stored = await database.fetchrow(
                sql.load("refresh_namespace"),
                name,
                body.kind,
                body.expires_at,
                "expires_at" in named,
                metadata,
                "metadata" in named,
            )
        # None: it changed between two statements; try again.
        if stored is not None:
            return rows.namespace(stored)
    raise Unavailable(f"namespace {name} is changing too fast", retry_after=1)


async def patch(database: Database, name: str, body: NamespacePatch) -> dict[str, Any]:
    """Change fields; a later `expires_at`, or null, restores an expired namespace."""
    stored = await database.fetchrow(
        sql.load("patch_namespace"),
        name,
        body.expires_at,
        "expires_at" in body.model_fields_set,
        jsonb.store(body.metadata),
        "metadata" in body.model_fields_set,
    )
    if stored is None:
        raise NotFound(f"namespace {name} does not exist")
    return rows.namespace(stored)


async def delete(database: Database, name: str) -> None:
    """Delete a namespace with its memories. It is invisible from the start."""
    if await database.fetchrow(sql.load("bury_namespace"), name) is None:
        raise NotFound(f"namespace {name} does not exist")
    await empty(database, name)
    await remove(database, name)


async def empty(
    database: Database, name: str, grace: timedelta = timedelta(), batch: int = _BATCH
) -> int:
    """Delete the rows of a namespace that expired longer than `grace` ago, and count them."""
    deleted = 0
    while True:
        gone = await database.execute(sql.load("empty_namespace"), name, grace, batch)
        deleted += gone
        if gone < batch:
            return deleted


async def remove(database: Database, name: str, grace: timedelta = timedelta()) -> bool:
    """Delete a namespace that expired longer than `grace` ago, unless it was revived."""
    return bool(await database.execute(sql.load("remove_namespace"), name, grace))


async def _recreate(database: Database, name: str, body: NamespaceUpsert) -> Any:
    await empty(database, name)
    async with database.connection() as connection, connection.transaction():
        stored = await connection.fetchrow(sql.load("find_namespace") + " FOR UPDATE", name)
        if stored is None or not stored["expired"]:
            return None
        # Rows just written by somebody who still saw the namespace.
        await connection.execute(
            "DELETE FROM memory_plugin.memory_records WHERE namespace = $1", name
        )
        return await connection.fetchrow(
            sql.load("recreate_namespace"),
            name,
            body.kind,
            body.expires_at,
            jsonb.store(body.metadata),
        )
