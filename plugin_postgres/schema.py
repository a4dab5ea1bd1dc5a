"""The plugin's part of the database."""

import logging

import asyncpg

from plugin_postgres import pgvector
from plugin_postgres.adoption import adopt
from postgres.schema import Schema

VECTOR = "vector"

log = logging.getLogger(__name__)


async def _ensure_pgvector(connection: asyncpg.Connection) -> bool:
    return await pgvector.ensure(connection)


SCHEMA = Schema(
    "memory_plugin",
    package="plugin_postgres.migrations",
    table="plugin_migrations",
    features={VECTOR: _ensure_pgvector},
    search_path=pgvector.search_path,
    adopt=adopt,
)


async def serves_vectors(connection: asyncpg.Connection) -> bool:
    """Whether the part of the schema that needs pgvector exists."""
    return await SCHEMA.has(connection, VECTOR)


async def warn_without_vectors(connection: asyncpg.Connection) -> None:
    if not await serves_vectors(connection):
        log.warning("pgvector 0.8 or later is not installed: serving without embeddings")
