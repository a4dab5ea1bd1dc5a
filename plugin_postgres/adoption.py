"""Adopts the tables of the Go plugin of the same contract, which are not in our schema.

That plugin creates its tables wherever its database URL points, by default in `public`. Starting
next to them would look like an empty plugin, so they are moved into our schema, in the transaction
that creates it. If it is not clear which tables are meant, the plugin refuses to start.
"""

import logging

import asyncpg

from postgres.errors import MigrationRefused

_TABLES = ("memory_namespaces", "memory_records")
# Columns that tell that plugin's tables from another program's with the same names. The information
# schema would hide the tables of other roles.
_FIND = """
SELECT quote_ident(nspname) AS schema
FROM pg_attribute
JOIN pg_class ON pg_class.oid = attrelid
JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname <> 'memory_plugin'
    AND relkind IN ('r', 'p')
    AND relpersistence <> 't'
    AND NOT attisdropped
    AND (
        (relname = 'memory_namespaces' AND attname IN ('name', 'kind', 'expires_at'))
        OR (relname = 'memory_records'
            AND attname IN ('id', 'namespace', 'content', 'kind', 'source', 'created_at'))
    )
GROUP BY nspname
HAVING count(*) = 9
ORDER BY nspname
"""

# What it makes at every start, and our migrations drop: if they are back, it has served again.
_ITS_INDEXES = r"""
SELECT indexrelid::regclass::text AS name
FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid
WHERE indrelid = to_regclass('memory_plugin.memory_records')
    AND to_regclass('memory_plugin.plugin_adoption') IS NOT NULL
    AND (
        relname IN ('idx_memory_records_namespace', 'idx_memory_records_expires')
        OR pg_get_indexdef(indexrelid) ~ ' USING gin \(content_tsv\)$'
    )
"""

log = logging.getLogger(__name__)


async def adopt(connection: asyncpg.Connection, *, fresh: bool) -> None:
    """Move the tables of another plugin into our schema, or refuse to start."""
    await _adopt_again(connection)
    found = [row["schema"] for row in await connection.fetch(_FIND)]
    if not found:
        return
    if not fresh or await _has_tables(connection):
        log.warning(
            "this database has tables of another memory plugin, which are not used",
            extra={"schemas": ", ".join(found)},
        )
        return
    if len(found) > 1:
        raise MigrationRefused(
            f"the schemas {', '.join(found)} of this database all have tables of a memory plugin;"
            " move those that this plugin should serve into the schema memory_plugin, with"
            " ALTER TABLE … SET SCHEMA memory_plugin for memory_namespaces and memory_records"
        )
    [schema] = found
    try:
        for table in _TABLES:
            await connection.execute(f"ALTER TABLE {schema}.{table} SET SCHEMA memory_plugin")
    except asyncpg.InsufficientPrivilegeError:
        raise MigrationRefused(
            f"the schema {schema} has tables of a memory plugin that belong to another role; use"
            " the role that owns memory_namespaces and memory_records in --database-url, or make"
            " this one their owner with ALTER TABLE … OWNER TO"
        ) from None
    log.info("adopted the tables of another memory plugin", extra={"schema": schema})


async def _adopt_again(connection: asyncpg.Connection) -> None:
    """After a rollback: the grace period begins anew, and indexes that double ours go again."""
    indexes = [row["name"] for row in await connection.fetch(_ITS_INDEXES)]
    if not indexes:
        return
    try:
        async with connection.transaction():
            await connection.execute(f"DROP INDEX {', '.join(indexes)}")
            await connection.execute("INSERT INTO memory_plugin.plugin_adoption VALUES (now())")
    except asyncpg.InsufficientPrivilegeError:
        log.warning("the role in --database-url may not drop the indexes of the Go plugin")
    else:
        log.info("adopted the tables again, which the Go plugin has served since")


async def _has_tables(connection: asyncpg.Connection) -> bool:
    found = await connection.fetchval("SELECT to_regclass('memory_plugin.memory_records')")
    return found is not None
