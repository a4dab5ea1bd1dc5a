"""Python imports this at its start when this folder is on its path: a clock that can be stepped.

The file named by STEPPED_CLOCK contains seconds; the process's clock is off by that much, and
follows when the number changes. Monotonic clocks are not affected, as with a real step of the
machine's clock.
"""

import datetime
import os
import time
from pathlib import Path

# These look up the class of times when they are imported, and must find the true one.
import asyncpg  # noqa: F401
import orjson  # noqa: F401

_FILE = Path(os.environ["STEPPED_CLOCK"])
_true_time_ns = time.time_ns
_true_datetime = datetime.datetime


def _time_ns() -> int:
    return _true_time_ns() + int(_FILE.read_text()) * 1_000_000_000


def _time() -> float:
    return _time_ns() / 1e9


class _Meta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _true_datetime)


class _SteppedDatetime(_true_datetime, metaclass=_Meta):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> _true_datetime:  # type: ignore[override]
        return _true_datetime.fromtimestamp(_time(), tz)

    @classmethod
    def utcnow(cls) -> _true_datetime:  # type: ignore[override]
        return _true_datetime.fromtimestamp(_time(), datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> _true_datetime:  # type: ignore[override]
        return cls.now()


time.time_ns = _time_ns
time.time = _time
datetime.datetime = _SteppedDatetime  # type: ignore[misc]
