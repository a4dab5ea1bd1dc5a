"""Keys of the index of words: a word with the mark of its namespace in front."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

# How many namespaces one look into the index serves: with more, each costs more.
SPAN = 32


@lru_cache(100_000)
def mark(namespace: str) -> str:
    """As memory_plugin.search_mark makes it."""
    return sha256(namespace.encode()).hexdigest()[:6]


def looks(template: str, marks: Sequence[str]) -> list[str]:
    """The tsqueries that look for a template in all the namespaces."""
    if len(marks) == 1:
        return [template.replace("@", marks[0])]
    parts = template.split("@")
    return [
        "(" + ") | (".join([it.join(parts) for it in marks[first : first + SPAN]]) + ")"
        for first in range(0, len(marks), SPAN)
    ]
