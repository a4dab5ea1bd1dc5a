"""Ids of our own making."""

import os
import time
from uuid import UUID


def new_id() -> UUID:
    """A UUID that begins with the time (version 7): neighbours in time are neighbours on disk."""
    random = int.from_bytes(os.urandom(10)) & ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=(time.time_ns() // 1_000_000) << 80 | 0x7 << 76 | 0x2 << 62 | random)
