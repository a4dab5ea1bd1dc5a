"""Ids: those of our own making, and those that others write.

They are of the driver's own class, as those in rows are: much quicker to make, compare and write
than Python's, of which it is a subclass.
"""

import os
import re
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from asyncpg.pgproto import pgproto

# Asking the system for each id takes longer than everything else about it.
_IDS_AT_ONCE = 256
_RANDOM_BYTES = 10
# The version (7) and the variant, and the bits that are left to chance.
_VERSION = 0x7 << 76 | 0x2 << 62
_FREE = ~(0xF << 76 | 0x3 << 62)
_FORM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def new_id() -> UUID:
    """A UUID that begins with the time (version 7): neighbours in time are neighbours on disk."""
    random = int.from_bytes(next(_randoms)) & _FREE
    number = (time.time_ns() // 1_000_000) << 80 | _VERSION | random
    return pgproto.UUID(number.to_bytes(16))


def random_id() -> UUID:
    """A UUID of our own kind (version 8), of which any part may be replaced by what it shares."""
    number = int.from_bytes(os.urandom(16)) & ~(0xF << 76) & ~(0x3 << 62)
    return pgproto.UUID((number | 0x8 << 76 | 0x2 << 62).to_bytes(16))


def _draw() -> Iterator[bytes]:
    while True:
        drawn = os.urandom(_IDS_AT_ONCE * _RANDOM_BYTES)
        for start in range(0, len(drawn), _RANDOM_BYTES):
            yield drawn[start : start + _RANDOM_BYTES]


_randoms = _draw()


def find_uuid(value: Any) -> UUID | None:
    """A UUID in its usual form and in any case, or None."""
    return pgproto.UUID(value) if isinstance(value, str) and _FORM.fullmatch(value) else None
