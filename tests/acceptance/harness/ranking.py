"""Base classes for broken searches."""

from collections.abc import Iterable

from contract import Memory, SearchRequest
from harness.example import Row, Store
from harness.example.search import rank


class Ranks(Store):
    """Ranks differently: `ranked` answers the rows in the wrong order, or the wrong rows."""

    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        return [row for row, _ in rank(rows, body.query, body.embedding, body.limit)]

    def search(self, body: SearchRequest) -> list[Memory]:
        rows = self.live_rows(body.namespaces)
        if body.kinds:
            rows = [row for row in rows if row.kind in body.kinds]
        return [row.to_memory() for row in self.ranked(rows, body)]


def newest(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.created_at, row.id), reverse=True)


def plain(body: SearchRequest) -> bool:
    return not body.query and body.embedding is None
