"""The plugin and its database, for tests that inspect or tamper with its rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tests.integration.backfill.legacy import query_database

_STALL = (
    "CREATE TABLE public.stalled AS SELECT 1",
    """
    CREATE FUNCTION public.stall() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF (SELECT count(*) FROM memory_plugin.memory_records) >= {rows} THEN
            WHILE EXISTS (SELECT FROM public.stalled) LOOP
                PERFORM pg_sleep(0.02);
            END LOOP;
        END IF;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER stall BEFORE INSERT ON memory_plugin.memory_records
    EXECUTE FUNCTION public.stall()
    """,
)
# The writers first: dropping a trigger waits for them.
_GO_ON = (
    "DELETE FROM public.stalled",
    "DROP TRIGGER stall ON memory_plugin.memory_records",
    "DROP FUNCTION public.stall()",
    "DROP TABLE public.stalled",
)


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

    @contextmanager
    def stalling_at(self, rows: int) -> Iterator[None]:
        """Block writes once there are this many rows, while the context lasts."""
        for statement in _STALL:
            self.query(statement.format(rows=rows))
        try:
            yield
        finally:
            for statement in _GO_ON:
                self.query(statement)

    def is_stalled(self) -> bool:
        """Whether a writer is blocked."""
        return bool(
            self.query(
                "SELECT FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event = 'PgSleep'"
            )
        )

    def versions(self) -> set[Any]:
        """Which rows there are, and their PostgreSQL row versions."""
        rows = self.query("SELECT id, ctid::text, xmin::text FROM memory_plugin.memory_records")
        return {tuple(row) for row in rows}

    def namespaces(self) -> dict[UUID, str]:
        """Where each row is."""
        rows = self.query("SELECT id, namespace FROM memory_plugin.memory_records")
        return {row["id"]: row["namespace"] for row in rows}
