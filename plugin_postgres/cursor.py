"""The cursor of a listing: where the next page begins, and which listing it belongs to."""

import base64
import hashlib
import json
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from contract import BadRequest, ListRequest

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LAYOUT = struct.Struct(">8s16sqq")
_LAST_ID = UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The memory at which a page begins; for a listing by time, also when the first page was read.

    `number` is that of the last memory written before the first page.
    """

    id: UUID
    created_at: datetime | None = None
    number: int = 0

    def write(self, request: ListRequest) -> str:
        """The text that a client sends back with the same request."""
        moment = 0 if self.created_at is None else (self.created_at - _EPOCH) // _MICROSECOND
        data = _LAYOUT.pack(_fingerprint(request), self.id.bytes, moment, self.number)
        return base64.urlsafe_b64encode(data).decode().rstrip("=")


def first(request: ListRequest, number: int) -> Cursor:
    """Where the first page of a listing begins; in id order the number does not matter."""
    if request.order == "id":
        return Cursor(UUID(int=0))
    return Cursor(_LAST_ID, None, number)


def read(text: str, request: ListRequest) -> Cursor:
    """The cursor of this listing; `BadRequest` if it belongs to another or is not a cursor."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        fingerprint, key, moment, number = _LAYOUT.unpack(data)
        created_at = _EPOCH + timedelta(microseconds=moment)
    except (ValueError, OverflowError, struct.error):
        raise _refused("must be the next_cursor of the previous page") from None
    if fingerprint != _fingerprint(request):
        raise _refused("belongs to a listing with a different order, namespaces, kinds or filter")
    return Cursor(UUID(bytes=key), created_at, number)


def _refused(reason: str) -> BadRequest:
    return BadRequest(f"cursor: {reason}", details={"field": "cursor"})


def _fingerprint(request: ListRequest) -> bytes:
    """The parts of a request that must stay the same from page to page."""
    times = [time and time.astimezone(UTC).isoformat() for time in _span(request)]
    where = {name: _comparable(value) for name, value in (request.where or {}).items()}
    parts = [request.order, sorted(set(request.namespaces)), sorted(set(request.kinds or ()))]
    text = json.dumps([*parts, where, *times], sort_keys=True)
    return hashlib.sha256(text.encode()).digest()[:8]


def _span(request: ListRequest) -> tuple[datetime | None, datetime | None]:
    return request.created_after, request.created_before


def _comparable(value: Any) -> Any:
    """Equal for equal values: 1 is 1.0, true is not 1."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
