"""Cursors for lists ordered by time, newest first, and then by id.

A cursor begins with a three-byte mark of its list, so that other lists refuse it.
"""

import base64
import binascii
import struct
from datetime import UTC, datetime, timedelta
from uuid import UUID

from conversations.errors import BadRequest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

START = (datetime(9999, 1, 1, tzinfo=UTC), UUID(int=0))
"""The position before the first item of a list."""


def make_cursor(mark: bytes, moment: datetime, key: UUID) -> str:
    """A position in a list."""
    micros = (moment - _EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(struct.pack(">3sq", mark, micros) + key.bytes).decode()


def read_cursor(mark: bytes, cursor: str, field: str) -> tuple[datetime, UUID]:
    try:
        packed = base64.b64decode(cursor, altchars=b"-_", validate=True)
        found, micros = struct.unpack(">3sq", packed[:11])
        if found != mark:
            raise ValueError("a cursor of another list")
        return _EPOCH + timedelta(microseconds=micros), UUID(bytes=packed[11:])
    except (ValueError, binascii.Error, struct.error, OverflowError):
        raise BadRequest(field, "must be the nextCursor of the previous page") from None
