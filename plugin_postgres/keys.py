"""Keys of the indexes of words: a word with the mark of its namespace, or family, in front."""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

# How many namespaces one look into the index serves: with more, each costs more.
SPAN = 32
# How many namespaces a family must have on average, so that it is worth trying.
_IN_A_FAMILY = 4

_FAMILY = re.compile(r"[a-z]+:[^:]+:[^:-]{8,}(?=[:-])")


@lru_cache(100_000)
def mark(namespace: str) -> str:
    """As memory_plugin.search_mark makes it."""
    return sha256(namespace.encode()).hexdigest()[:6]


@lru_cache(100_000)
def family(namespace: str) -> str | None:
    """What a namespace shares with others of its family, as memory_plugin.search_family tells."""
    match = _FAMILY.match(namespace)
    return match and match[0]


def families(namespaces: Sequence[str]) -> tuple[str, ...]:
    """The families of the namespaces; none if these are too many, or one has no family."""
    first, last = min(namespaces), max(namespaces)
    shared = family(first)
    if shared is not None and last.startswith(first[: len(shared) + 1]):
        return (shared,)  # as all have that are between them
    found = {family(name) for name in namespaces}
    if None in found or len(found) * _IN_A_FAMILY > len(namespaces):
        return ()
    return tuple(sorted(name for name in found if name is not None))


def looks(template: str, marks: Sequence[str]) -> list[str]:
    """The tsqueries that look for a template in all the namespaces."""
    if len(marks) == 1:
        return [template.replace("@", marks[0])]
    parts = template.split("@")
    return [
        "(" + ") | (".join([it.join(parts) for it in marks[first : first + SPAN]]) + ")"
        for first in range(0, len(marks), SPAN)
    ]
