"""A legacy database to fill with rows, common and odd."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)

# Without foreign keys and NOT NULL: old installations have rows that those would forbid.
TABLES = """
CREATE TABLE workspaces (id uuid PRIMARY KEY, name text, parent_id uuid, status text);
CREATE TABLE agent_memories (
    id uuid PRIMARY KEY, workspace_id uuid, content text, scope varchar, created_at timestamptz
);
"""
OPTIONAL_COLUMNS = """
ALTER TABLE agent_memories ADD updated_at timestamptz, ADD namespace varchar(50);
"""
ROWS = """
INSERT INTO agent_memories (id, workspace_id, content, scope, created_at)
SELECT md5('row ' || n)::uuid, workspace_id, 'note ' || n || ' on ' || md5(n::text), scope,
       timestamptz '2026-01-01 00:00:00+00' + n * interval '1 second'
FROM (
    SELECT n, ($2::uuid[])[1 + n % cardinality($2)] AS workspace_id,
           (ARRAY['LOCAL', 'LOCAL', 'TEAM', 'GLOBAL'])[1 + n / 7 % 4] AS scope
    FROM generate_series(1, $1) AS n
) AS made
"""


class LegacyDatabase:
    """The two tables, and short ways to fill them."""

    def __init__(self, url: str, *, optional_columns: bool = True) -> None:
        self.url = url
        self.execute(TABLES + (OPTIONAL_COLUMNS if optional_columns else ""))

    def execute(self, query: str, *values: Any) -> None:
        query_database(self.url, query, *values)

    def workspace(self, *, parent: UUID | None = None, status: str = "online") -> UUID:
        """A workspace, a root unless it has a parent."""
        made = uuid4()
        self.execute(
            "INSERT INTO workspaces VALUES ($1, $2, $3, $4)", made, f"ws {made}", parent, status
        )
        return made

    def memory(
        self,
        workspace: UUID | None,
        content: str | None = "the sky is blue",
        scope: str | None = "LOCAL",
        *,
        created_at: datetime | str | None = NOON,
    ) -> UUID:
        """A row; a time may be given as PostgreSQL writes it, such as 'infinity'."""
        made = uuid4()
        self.execute(
            "INSERT INTO agent_memories (id, workspace_id, content, scope, created_at)"
            " VALUES ($1, $2, $3, $4, $5::text::timestamptz)",
            made,
            workspace,
            content,
            scope,
            created_at.isoformat() if isinstance(created_at, datetime) else created_at,
        )
        return made

    def memories(self, workspace: UUID, *contents: str) -> list[UUID]:
        """A LOCAL row for each content, all of the same time."""
        ids = [uuid4() for _ in contents]
        self.execute(
            "INSERT INTO agent_memories (id, workspace_id, content, scope, created_at)"
            " SELECT id, $1, content, 'LOCAL', $4"
            " FROM unnest($2::uuid[], $3::text[]) AS given (id, content)",
            workspace,
            ids,
            contents,
            NOON,
        )
        return ids

    def fill(self, rows: int, *workspaces: UUID) -> None:
        """Many rows over the workspaces, in all scopes."""
        self.execute(ROWS, rows, list(workspaces))


def query_database(url: str, query: str, *values: Any) -> list[Any]:
    """Run one statement, from synchronous code; without values it may be several."""

    async def run() -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            if values:
                return list(await connection.fetch(query, *values))
            if query.lstrip().upper().startswith("SELECT"):
                return list(await connection.fetch(query))
            await connection.execute(query)
            return []
        finally:
            await connection.close()

    return asyncio.run(run())
