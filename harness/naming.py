"""Which namespaces a request names, however it spells them."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from contract import NAMESPACE_PATTERN
from harness.exchange import Request

LONGEST_NAME = 256
# What a server or a proxy may treat as one part of a path after decoding it.
PATH_PART = re.compile(r"[^/?#=&]+")
_NAME = re.compile(NAMESPACE_PATTERN)
_FIELDS = ("namespace", "namespaces", "requested_by_namespace")


def looks_like_a_name(text: str) -> bool:
    """True for what has the pattern of a namespace's name, even if it is too long."""
    return _NAME.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """True for what may be the name of an existing namespace."""
    return len(text) <= LONGEST_NAME and looks_like_a_name(text)


def decoded(path: str) -> str:
    """The path without percent-encoding, even if it was encoded more than once."""
    while (plain := unquote(path)) != path:
        path = plain
    return path


def names_in(request: Request) -> set[str]:
    """Every valid name in the path, and in the fields of the body that name a namespace."""
    found = set(filter(is_name, PATH_PART.findall(decoded(request.path))))

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Pair by pair, because some plugins use the first of a repeated key.
        for key, value in pairs:
            if key in _FIELDS:
                found.update(filter(is_name, _texts(value)))
        return dict(pairs)

    # Invalid JSON names nothing, but names before the error count.
    with suppress(ValueError, RecursionError):
        json.loads(request.body or b"null", object_pairs_hook=look)
    return found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
