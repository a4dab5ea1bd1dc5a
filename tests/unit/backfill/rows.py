"""Legacy rows without a database."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from backfill.mapping import LegacyRow, write_of
from backfill.writer import Item

WORKSPACE = UUID(int=1)
NAMESPACE = f"workspace:{WORKSPACE}"


def row(number: int = 7, content: bytes | None = b"the sky is blue", **fields: Any) -> LegacyRow:
    values: dict[str, Any] = {
        "workspace_id": WORKSPACE,
        "scope": "LOCAL",
        "slot": 0,
        "created_at": datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        "odd_created_at": None,
        "updated_at": None,
        "odd_updated_at": None,
        "namespace": None,
        "embedding": None,
    }
    return LegacyRow(id=UUID(int=number), content=content, **(values | fields))


def item(number: int = 7, content: str = "the sky is blue") -> Item:
    made = row(number, content.encode())
    return Item(made, write_of(made, NAMESPACE, content, frozenset()))
