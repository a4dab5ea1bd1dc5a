"""How common the words of a query are, as a sample of the newest memories shows.

A sample costs as much as a search, and what is common stays so for longer than a few seconds. So it
is kept for a moment. It decides what is looked up and not what is found: a search that finds less
than it may return takes a new one.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from plugin_postgres import sql
from plugin_postgres.lexicon import Fetch

_KEPT_SECONDS = 5.0
_MOST_KEPT = 500
# How long it is remembered that a family has more namespaces than a search names.
_WIDER_SECONDS = 60.0
# Up to how many namespaces each is sampled by itself, and up to how many all are sampled.
_FEW = 4
_SOME = 16
# A smaller sample tells nothing.
_TELLING = 32
_Size = tuple[int, int]
_WORD = re.compile(r"('@[^']*)'(:\*)?")


class Sample(NamedTuple):
    """Some memories of the searched namespaces, and which of them have a word."""

    parts: "tuple[_Part, ...]"
    share: float  # of how many times as many namespaces the sample stands
    taken: int

    @property
    def is_telling(self) -> bool:
        return self.taken >= _TELLING

    @property
    def is_counted(self) -> bool:
        """Whether all memories of the namespaces were counted, and none of them is pinned."""
        return self.share == 1.0 and all(part.is_counted for part in self.parts)

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
        """How many memories of the sample a template matches, but not the other one."""
        return sum([part.seen(template, without) for part in self.parts])

    def estimate(self, template: str, without: str | None = None) -> int:
        """About how many memories that is in all."""
        seen = [(part.seen(template, without), part) for part in self.parts]
        return round(self.share * sum(n * part.stored / part.taken for n, part in seen if n))


@dataclass(frozen=True, slots=True)
class _Part:
    """The memories of some of the namespaces."""

    taken: int
    stored: int  # how many memories these have, if they are not more than were counted
    is_counted: bool  # whether they are not more, and none of them is pinned
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
        # By how it was taken, too: the same namespaces may stand for themselves or for others.
        self._parts: dict[tuple[_Size, tuple[str, ...]], tuple[float, _Part]] = {}
        self._wider: dict[tuple[str, ...], float] = {}

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
        """Drop what is kept, such as when a namespace was deleted."""
        self._parts.clear()

    def are_wider(self, families: tuple[str, ...]) -> bool:
        """Whether these families were found to have more namespaces than were asked for."""
        return time.monotonic() < self._wider.get(families, 0.0)

    def note_wider(self, families: tuple[str, ...]) -> None:
        if len(self._wider) >= _MOST_KEPT:
            self._wider.clear()
        self._wider[families] = time.monotonic() + _WIDER_SECONDS


def _size(namespaces: int) -> _Size:
    """How many memories of each namespace are taken, and how many are counted at most."""
    if namespaces <= _FEW:
        return 48, 1_600
    return (12, 400) if namespaces <= _SOME else (4, 100)


def _groups(namespaces: Sequence[str]) -> list[tuple[str, ...]]:
    """The namespaces of which a sample is taken, and kept together: each of a few by itself."""
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
        is_counted=all(stored < most and not is_pinned for stored, is_pinned, _ in rows),
        # A word of one memory has one bit, so that it is a power of two.
        words={f"'@{word}'": bits for word, bits in words.items() if bits & (bits - 1)},
    )
