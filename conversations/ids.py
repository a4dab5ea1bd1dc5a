"""Ids: generating our own, and reading those that others send.

They have the same class as ids in rows: the driver's subclass of Python's UUID, which is much
faster to create, compare and encode.
"""

import os
import re
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from asyncpg.pgproto import pgproto

# A system call for each id would take longer than everything else.
_IDS_AT_ONCE = 256
_RANDOM_BYTES = 10
# The version (7) and the variant; the other bits are random.
_VERSION = 0x7 << 76 | 0x2 << 62
_FREE = ~(0xF << 76 | 0x3 << 62)
_FORM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def new_id() -> UUID:
    """A UUID that begins with the time (version 7): neighbours in time are neighbours on disk."""
    random = int.from_bytes(next(_randoms)) & _FREE
    number = (time.time_ns() // 1_000_000) << 80 | _VERSION | random
    return pgproto.UUID(number.to_bytes(16))


def random_id() -> UUID:
    """A random UUID of version 8 (custom): create_conversation.sql may replace its start."""
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
