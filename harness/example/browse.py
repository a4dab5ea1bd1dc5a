"""The extensions `filter` and `browse`: which rows match, their order, and how many there are."""

import json
from base64 import b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import UUID

from contract import (
    MAX_GROUPS,
    BadRequest,
    CountGroup,
    CountRequest,
    ListRequest,
    SearchRequest,
    format_time,
)

if TYPE_CHECKING:
    from harness.example.store import Row

_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


def matches(row: "Row", body: SearchRequest | ListRequest | CountRequest) -> bool:
    """Whether a row has one of the kinds, the time span and the fields that a request asks for."""
    return (
        (not body.kinds or row.kind in body.kinds)
        and (body.created_after is None or row.created_at >= body.created_after)
        and (body.created_before is None or row.created_at < body.created_before)
        and all(
            scalar((row.propagation or {}).get(name)) == scalar(value)
            for name, value in (body.where or {}).items()
        )
    )


def scalar(value: object) -> tuple[str, Any] | None:
    """A value with its JSON type, for comparison; None for null, lists and objects.

    In Python, `True` equals 1; in JSON it does not. In both, 1 equals 1.0.
    """
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, int | float):
        return ("number", int(value) if value == int(value) else value)
    return ("string", value) if isinstance(value, str) else None


def group(rows: Iterable["Row"], field: str) -> list[CountGroup]:
    """How many rows have each value of a field: the largest group first, then by value."""
    counts = Counter(scalar((row.propagation or {}).get(field)) for row in rows)
    if len(counts) > MAX_GROUPS:
        raise BadRequest(f"group_by: has more than {MAX_GROUPS} different values")
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0] or ()))
    return [CountGroup(value=key[1] if key else None, count=count) for key, count in ordered]


def newest_first(created_at: datetime, key: UUID) -> tuple[timedelta, UUID]:
    """The key of the order `newest`: `created_at` descending, then `id` ascending."""
    return (_END_OF_TIME - created_at, key)


@dataclass(frozen=True)
class Cursor:
    """Where a page ended.

    `request` is what the cursor belongs to. `latest` is the number of the last row written before
    the first page: later rows do not appear in `newest`.
    """

    request: str
    latest: int
    created_at: datetime
    id: UUID

    def __str__(self) -> str:
        parts = [self.request, self.latest, format_time(self.created_at), str(self.id)]
        return urlsafe_b64encode(json.dumps(parts).encode()).decode()

    @classmethod
    def read(cls, text: str, request: str) -> "Cursor":
        """The cursor of a request; `BadRequest` if it belongs to another or is not a cursor."""
        try:
            parts = b64decode(text, altchars=b"-_", validate=True)
            belongs, latest, created_at, row = json.loads(parts)
            cursor = cls(belongs, int(latest), datetime.fromisoformat(created_at), UUID(row))
        except (ValueError, TypeError, AttributeError):
            raise BadRequest("cursor: must be the next_cursor of the previous page") from None
        if cursor.request != request:
            raise BadRequest(
                "cursor: belongs to a listing with a different order, namespaces, kinds or filter"
            )
        return cursor


def fingerprint(body: ListRequest) -> str:
    """The parts of a request that must stay the same from page to page."""
    where = sorted((name, *(scalar(value) or ())) for name, value in (body.where or {}).items())
    parts = [
        body.order,
        sorted(set(body.namespaces)),
        sorted(set(body.kinds or ())),
        where,
        str(body.created_after),
        str(body.created_before),
    ]
    return sha256(json.dumps(parts).encode()).hexdigest()[:16]
