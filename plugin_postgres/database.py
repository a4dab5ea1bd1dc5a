"""The plugin's connections to PostgreSQL, with vectors if pgvector is available."""

import asyncpg

from plugin_postgres import pgvector, vectors
from plugin_postgres.schema import serves_vectors
from plugin_postgres.settings import Settings
from postgres import database

NAME = "memory-plugin-postgres"
# One plan serves every argument: what to look up is decided inside the statements.
_SESSION = {"plan_cache_mode": "force_generic_plan"}


class Database(database.Database):
    """The database, and whether it supports vectors."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, name=NAME, session=_SESSION, prepare=self._prepare_vectors)
        self.serves_vectors = True

    async def _prepare_vectors(self, connection: asyncpg.Connection) -> None:
        await connection.execute(f"SET search_path = {await pgvector.search_path(connection)}")
        serves = await serves_vectors(connection)
        if serves != self.serves_vectors:
            # The other connections were made before pgvector was installed and cannot send vectors.
            self.serves_vectors = serves
            self.expire()
        if serves:
            await pgvector.register(connection)
            await connection.execute(vectors.SESSION)
