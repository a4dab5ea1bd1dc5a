"""Ranking: newest first, by words, by meaning, or by both.

A memory matches a query if it has every word of it, as a whole word or within a longer one; case
and accents are ignored. That finds what a person expects in scripts with and without spaces, and
for a query of one letter or of punctuation only.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.example.store import Row

RRF_K = 60
_WORD = re.compile(r"\w+")
_ENDINGS = ("ing", "ed", "es", "s")

Scored = list[tuple["Row", float | None]]


def rank(
    rows: Sequence["Row"], query: str | None, embedding: list[float] | None, limit: int
) -> Scored:
    """At most `limit` rows with their scores, pinned before unpinned, best first.

    Pins come first among all that match a text; with an embedding they come first only among the
    best `limit`, so that they cannot displace all relevant memories.
    """
    newest = sorted(rows, key=lambda row: (row.created_at, row.id), reverse=True)
    has_query = query is not None and not query.isspace() and query != ""
    if embedding is not None:
        found = by_score(newest, lambda row: similarity(row.embedding, embedding))
        if has_query and query is not None:
            found = fuse(by_text(newest, query), found)
        return pinned_first(found[:limit])
    if has_query and query is not None:
        return pinned_first(by_text(newest, query))[:limit]
    return pinned_first([(row, None) for row in newest])[:limit]


def pinned_first(found: Scored) -> Scored:
    """Pins to the front; the order is otherwise kept."""
    return sorted(found, key=lambda pair: not pair[0].pin)


def by_score(rows: Sequence["Row"], score: Callable[["Row"], float | None]) -> Scored:
    """The rows that have a score, best first, then newest first."""
    scored = [(row, value) for row in rows if (value := score(row)) is not None]
    scored.sort(key=lambda pair: -pair[1])
    return list(scored)


def by_text(rows: Sequence["Row"], query: str) -> Scored:
    """The rows that match a query."""
    wanted = fold(query)
    words = _WORD.findall(wanted)
    return by_score(rows, lambda row: text_score(fold(row.content), words, wanted.strip()))


def text_score(text: str, words: list[str], whole: str) -> float | None:
    """How well a text matches, or None if it does not."""
    if not words:
        return 1.0 if whole in text else None
    there = _WORD.findall(text)
    stems = {stem(word) for word in there}
    total = 0.0
    for word in words:
        if word in there:
            total += 1.0 + math.log(there.count(word))
        elif stem(word) in stems:
            total += 0.8
        elif any(other.startswith(word) for other in there):
            total += 0.5
        elif word in text:
            total += 0.2
        else:
            return None
    phrase = 1.0 if len(words) > 1 and whole in text else 0.0
    return (total / len(words) + phrase) / (1.0 + math.log(1.0 + len(there)) / 10.0)


def fold(text: str) -> str:
    """The text without case, accents and compatibility forms."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


def stem(word: str) -> str:
    """The word without an English ending: enough for plurals and tenses."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def similarity(stored: list[float] | None, wanted: list[float]) -> float | None:
    """Cosine of the angle; None if the two cannot be compared."""
    if stored is None or len(stored) != len(wanted):
        return None
    length = math.hypot(*stored) * math.hypot(*wanted)
    if length == 0 or not math.isfinite(length):
        return 0.0
    return math.fsum(a * b for a, b in zip(stored, wanted, strict=True)) / length


def fuse(first: Scored, second: Scored) -> Scored:
    """Reciprocal rank fusion: rows that rank high in both lists come first."""
    scores: dict[object, float] = {}
    rows: dict[object, Row] = {}
    for found in (first, second):
        for place, (row, _) in enumerate(found, start=1):
            rows[row.id] = row
            scores[row.id] = scores.get(row.id, 0.0) + 1.0 / (RRF_K + place)
    newest = sorted(rows.values(), key=lambda row: (row.created_at, row.id), reverse=True)
    return by_score(newest, lambda row: scores[row.id])
