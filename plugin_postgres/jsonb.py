"""Opaque JSON objects, such as `propagation`: what goes in must come out unchanged.

PostgreSQL stores the numbers of a jsonb as decimals: integers of any size and fractions survive,
but 1e22 comes back as an integer. Written with a `.0` it stays a float. (The one thing lost is the
sign of -0.0, which equals 0.0 everywhere.) PostgreSQL sorts keys; JSON objects have no order.
"""

import json
from decimal import Decimal
from typing import Any

import orjson


def store(value: dict[str, Any] | None) -> str | None:
    """The text to store, or None for SQL NULL."""
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Python writes every float from 1e16 on with this exponent; a string may have it as well.
    return _written_out(value) if "e+" in text else text


def restore(stored: str | None) -> orjson.Fragment | None:
    """The stored text, ready for a response. An adopted row may contain the JSON null."""
    return None if stored is None or stored == "null" else orjson.Fragment(stored)


def _written_out(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)}:{_written_out(item)}" for key, item in value.items())
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written_out, value)) + "]"
    text = json.dumps(value)
    return f"{Decimal(text):f}.0" if isinstance(value, float) and "e+" in text else text
