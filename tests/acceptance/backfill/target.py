"""The plugin's side, for tests that look behind its back or tamper with it."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tests.integration.backfill.legacy import query_database


@dataclass(frozen=True)
class TargetPlugin:
    """A plugin at `url`, and the database where it keeps its rows."""

    url: str
    database_url: str

    def query(self, query: str, *values: Any) -> list[Any]:
        return query_database(self.database_url, query, *values)

    def wipe(self) -> None:
        self.query("TRUNCATE memory_plugin.memory_namespaces CASCADE")

    def count(self) -> int:
        return int(self.query("SELECT count(*) FROM memory_plugin.memory_records")[0][0])

    def versions(self) -> set[Any]:
        """Which rows there are, and in which version of PostgreSQL's own."""
        rows = self.query("SELECT id, ctid::text, xmin::text FROM memory_plugin.memory_records")
        return {tuple(row) for row in rows}

    def namespaces(self) -> dict[UUID, str]:
        """Where each row is."""
        rows = self.query("SELECT id, namespace FROM memory_plugin.memory_records")
        return {row["id"]: row["namespace"] for row in rows}
