"""How common the words of a query are, judged by a sample of the newest memories.

A sample costs as much as a search, so it is kept for a few seconds; common words stay common for
longer. It decides what is looked up, not what is found: a search that finds fewer memories than it
may return takes a new sample.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from plugin_postgres import sql
from plugin_postgres.lexicon import Fetch

_KEPT_SECONDS = 5.0
_MOST_KEPT = 500
_NOTED_SECONDS = 60.0
# Up to this many namespaces have a sample each, and up to this many are all sampled.
_FEW = 4
_SOME = 16
# A smaller sample tells nothing.
_TELLING = 32
_Size = tuple[int, int]
# Of families: they have more namespaces than a search names, or pinned memories.
_Note = Literal["wider", "pinned"]
_WORD = re.compile(r"('@[^']*)'(:\*)?")


class Sample(NamedTuple):
    """Some memories of the searched namespaces, and which of them have a word."""

    parts: "tuple[_Part, ...]"
    share: float  # how many times as many namespaces the sample represents
    taken: int

    @property
    def is_telling(self) -> bool:
        return self.taken >= _TELLING

    @property
    def is_counted(self) -> bool:
        """Whether all memories of the namespaces were counted."""
        return self.share == 1.0 and all(part.is_counted for part in self.parts)

    @property
    def is_pinned(self) -> bool:
        """Whether a memory is pinned."""
        return any(part.is_pinned for part in self.parts)

    def counts(self, templates: Sequence[str]) -> tuple[list[int], list[int]]:
        """`seen` and `estimate` of each template, in less time than one by one."""
        seen, stored = [0] * len(templates), [0.0] * len(templates)
        for part in self.parts:
            for place, template in enumerate(templates):
                if matched := part.matched(template):
                    count = matched.bit_count()
                    seen[place] += count
                    stored[place] += count * part.stored / part.taken
        return seen, [round(self.share * it) if it else 0 for it in stored]

    def seen(self, template: str, without: str | None = None) -> int:
        """How many memories of the sample match a template, but not the other one."""
        return sum([part.seen(template, without) for part in self.parts])

    def estimate(self, template: str, without: str | None = None) -> int:
        """About how many of all memories that is."""
        seen = [(part.seen(template, without), part) for part in self.parts]
        return round(self.share * sum(n * part.stored / part.taken for n, part in seen if n))


@dataclass(frozen=True, slots=True)
class _Part:
    """The memories of some of the namespaces."""

    taken: int
    stored: int  # how many memories they have, as far as counted
    is_counted: bool  # whether all were counted
    is_pinned: bool  # whether one of them is pinned
    words: dict[str, int]  # by template, a bit for each memory; words of one memory are left out

    def seen(self, template: str, without: str | None) -> int:
        matched = self.matched(template)
        if matched and without is not None:
            matched &= ~self.matched(without)
        return matched.bit_count()

    def matched(self, template: str) -> int:
        """A bit for each memory that a template matches."""
        bits = self.words.get(template, 0)
        if bits:
            return bits
        if template[0] == "(" or template[-1] == "*":
            for word, is_beginning in _WORD.findall(template):
                if is_beginning:
                    for other, of_other in self.words.items():
                        bits |= of_other if other.startswith(word) else 0
                else:
                    bits |= self.words.get(f"{word}'", 0)
        return bits


class Commonness:
    """The samples of the last few seconds."""

    def __init__(self, kept_seconds: float = _KEPT_SECONDS) -> None:
        self._kept_seconds = kept_seconds
        # Also by its size: the same namespaces may represent themselves or others as well.
        self._parts: dict[tuple[_Size, tuple[str, ...]], tuple[float, _Part]] = {}
        self._notes: dict[tuple[tuple[str, ...], _Note], float] = {}

    def kept(self, namespaces: Sequence[str]) -> Sample | None:
        """The last sample of these namespaces, unless it is too old."""
        groups, size = _groups(namespaces), _size(len(namespaces))
        now = time.monotonic()
        parts = []
        for group in groups:
            kept = self._parts.get((size, group))
            if kept is None or kept[0] <= now:
                return None
            parts.append(kept[1])
        return _whole(tuple(parts), groups, namespaces)

    async def sample(self, fetch: Fetch, namespaces: Sequence[str]) -> Sample:
        """A new sample of these namespaces."""
        groups, size = _groups(namespaces), _size(len(namespaces))
        names = [name for group in groups for name in group]
        rows = iter(await fetch(sql.load("sample_words"), names, *size))
        parts = tuple(_part([next(rows) for _ in group], size[1]) for group in groups)
        if len(self._parts) + len(groups) > _MOST_KEPT:
            self.forget()
        until = time.monotonic() + self._kept_seconds
        for group, part in zip(groups, parts, strict=True):
            self._parts[size, group] = until, part
        return _whole(parts, groups, namespaces)

    def forget(self) -> None:
        """Drop all samples, for example because a namespace was deleted."""
        self._parts.clear()

    def is_noted(self, families: tuple[str, ...], note: _Note) -> bool:
        """Whether the last searches in these families have noted this."""
        return time.monotonic() < self._notes.get((families, note), 0.0)

    def note(self, families: tuple[str, ...], note: _Note) -> None:
        if len(self._notes) >= _MOST_KEPT:
            self._notes.clear()
        self._notes[families, note] = time.monotonic() + _NOTED_SECONDS


def _size(namespaces: int) -> _Size:
    """How many memories of each namespace to sample, and how many to count at most."""
    if namespaces <= _FEW:
        return 48, 1_600
    return (12, 400) if namespaces <= _SOME else (4, 100)


def _groups(namespaces: Sequence[str]) -> list[tuple[str, ...]]:
    """The namespaces to sample, in groups that share a sample; a few have one each."""
    if len(namespaces) <= _FEW:
        return [(name,) for name in namespaces]
    step = -(-len(namespaces) // _SOME)
    return [tuple(namespaces[::step])]


def _whole(
    parts: tuple[_Part, ...], groups: Sequence[tuple[str, ...]], namespaces: Sequence[str]
) -> Sample:
    share = len(namespaces) / sum(map(len, groups))
    return Sample(parts, share, sum([part.taken for part in parts]))


def _part(rows: Sequence[tuple[int, bool, Sequence[str]]], most: int) -> _Part:
    texts = [text for _, _, texts in rows for text in texts]
    words: dict[str, int] = {}
    for place, text in enumerate(texts):
        bit = 1 << place
        for word in text.split(" "):
            words[word] = words.get(word, 0) | bit
    return _Part(
        taken=len(texts),
        stored=sum(stored for stored, _, _ in rows),
        is_counted=all(stored < most for stored, _, _ in rows),
        is_pinned=any(is_pinned for _, is_pinned, _ in rows),
        # The bits of a word of one memory are a power of two.
        words={f"'@{word}'": bits for word, bits in words.items() if bits & (bits - 1)},
    )
