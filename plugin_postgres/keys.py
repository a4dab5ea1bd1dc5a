"""Keys of the word indexes: a word, prefixed with the mark of its namespace or family."""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

# How many namespaces one lookup covers; with more, each of them costs more.
SPAN = 32
# How many namespaces a family must have on average to be worth trying.
_IN_A_FAMILY = 4

_FAMILY = re.compile(r"[a-z]+:[^:]+:[^:-]{8,}(?=[:-])")


@lru_cache(100_000)
def mark(namespace: str) -> str:
    """Like memory_plugin.search_mark."""
    return sha256(namespace.encode()).hexdigest()[:6]


@lru_cache(100_000)
def family(namespace: str) -> str | None:
    """The prefix that a namespace shares with its family, like memory_plugin.search_family."""
    match = _FAMILY.match(namespace)
    return match and match[0]


def families(namespaces: Sequence[str]) -> tuple[str, ...]:
    """The families of the namespaces; none if there are too many, or a namespace has none."""
    first, last = min(namespaces), max(namespaces)
    shared = family(first)
    if shared is not None and last.startswith(first[: len(shared) + 1]):
        return (shared,)  # and so do all names in between
    found = {family(name) for name in namespaces}
    if None in found or len(found) * _IN_A_FAMILY > len(namespaces):
        return ()
    return tuple(sorted(name for name in found if name is not None))


def lookups(template: str, marks: Sequence[str]) -> list[str]:
    """The tsqueries that look a template up in all the namespaces."""
    if len(marks) == 1:
        return [template.replace("@", marks[0])]
    parts = template.split("@")
    return [
        "(" + ") | (".join([it.join(parts) for it in marks[first : first + SPAN]]) + ")"
        for first in range(0, len(marks), SPAN)
    ]
