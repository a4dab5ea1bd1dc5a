"""Durations as operators write them: `2s`, `500ms`, `1m`, or plain seconds, `2`."""

import math
import re

_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|m)?", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}


def parse_duration(value: float | str) -> float:
    """The duration in seconds, always positive; raises ValueError for anything else."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        seconds = float(match[1]) * _SECONDS[match[2]] if match else math.nan
    else:
        seconds = float(value)
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError("must be a duration greater than zero, such as 2s, 500ms or 2")
    return seconds
