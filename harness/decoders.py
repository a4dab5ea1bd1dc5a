"""Where the ordinary JSON decoders of Go, Rust, Java, Node and Python differ.

The contract leaves these to the plugin: an integral float for an integer, null for an optional
field of a search or a listing, numbers at the limit of a 32-bit float. A request with one of these
may be accepted or refused; neither is a failure.
"""

import json
from typing import Any

_INTEGERS = ("limit",)
_LARGEST = 3.4e38
_SMALLEST = 1.2e-38
_NULL_HAS_A_MEANING = {
    "putNamespace": ("expires_at", "metadata"),
    "patchNamespace": ("expires_at", "metadata"),
    "writeMemory": ("id", "expires_at", "propagation", "pin", "embedding"),
}


def decoders_differ(operation: str, body: bytes | None) -> bool:
    """Whether common decoders disagree about this body."""
    try:
        value = json.loads(body or b"")
    except ValueError:
        return False
    if not isinstance(value, dict):
        return False
    meant = _NULL_HAS_A_MEANING.get(operation, ())
    return any(item is None and name not in meant for name, item in value.items()) or any(
        _differ(name, item) for part in _objects(value) for name, item in part.items()
    )


def _objects(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The request, and the writes in it if it is a batch."""
    writes = value.get("writes")
    if not isinstance(writes, list):
        return [value]
    return [value, *(write for write in writes if isinstance(write, dict))]


def _differ(name: str, value: object) -> bool:
    if name in _INTEGERS:
        return isinstance(value, float)
    if name == "embedding" and isinstance(value, list):
        return any(_at_the_edge(number) for number in value)
    return False


def _at_the_edge(number: object) -> bool:
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return abs(number) >= _LARGEST or 0 < abs(number) < _SMALLEST
