"""How common the words of a query are, as a sample of the newest memories shows.

A sample costs as much as a search, and what is common stays so for longer than a few seconds. So it
is kept for a moment. It decides what is looked up and not what is found: a search that finds less
than it may return takes a new one.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from plugin_postgres import sql
from plugin_postgres.lexicon import Fetch

_KEPT_SECONDS = 5.0
_MOST_KEPT = 100
# How many memories a sample has, if they are in few namespaces.
_SIZE = 48
# How many of the namespaces are sampled.
_NAMESPACES = 16
# How many memories are counted at most.
_COUNTED = 1_600
# A smaller sample tells nothing.
_TELLING = 32
_WORD = re.compile(r"('@[^']*)'(:\*)?")


@dataclass(frozen=True, slots=True)
class Sample:
    """Some memories of the searched namespaces, and which of them have a word."""

    taken: int
    stored: float  # about how many memories the namespaces have, at least where these are few
    words: dict[str, int]  # by template, a bit for each memory; words of one memory are left out

    @property
    def is_telling(self) -> bool:
        return self.taken >= _TELLING

    def seen(self, template: str, without: str | None = None) -> int:
        """How many memories of the sample a template matches, but not the other one."""
        matched = self._matched(template)
        if without is not None:
            matched &= ~self._matched(without)
        return matched.bit_count()

    def estimate(self, seen: int) -> int:
        """About how many memories have what `seen` of the sample have."""
        return round(seen * self.stored / self.taken)

    def _matched(self, template: str) -> int:
        if (bits := self.words.get(template)) is not None:
            return bits
        bits = 0
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
        self._samples: dict[tuple[int, tuple[str, ...]], tuple[float, Sample]] = {}

    def kept(self, namespaces: Sequence[str]) -> Sample | None:
        """The last sample of these namespaces, unless it is too old."""
        kept = self._samples.get(_key(namespaces))
        return kept[1] if kept is not None and time.monotonic() < kept[0] else None

    async def sample(self, fetch: Fetch, namespaces: Sequence[str]) -> Sample:
        """A new sample of these namespaces."""
        key = _key(namespaces)
        names = key[1]
        # Of many namespaces a few are counted, and not one large one alone.
        counted = _COUNTED if len(names) == len(namespaces) else _COUNTED // _NAMESPACES
        [(stored, texts)] = await fetch(sql.load("sample_words"), names, _SIZE, counted)
        sample = Sample(
            taken=len(texts),
            stored=stored * len(namespaces) / len(names),
            words=_by_word(texts),
        )
        if len(self._samples) >= _MOST_KEPT:
            self.forget()
        self._samples[key] = time.monotonic() + self._kept_seconds, sample
        return sample

    def forget(self) -> None:
        """Drop what is kept, such as when a namespace was deleted."""
        self._samples.clear()


def _key(namespaces: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """How many namespaces there are, and those of which a sample is taken."""
    step = -(-len(namespaces) // _NAMESPACES)
    return len(namespaces), tuple(namespaces[::step][:_NAMESPACES])


def _by_word(texts: Sequence[str]) -> dict[str, int]:
    words: dict[str, int] = {}
    for place, text in enumerate(texts):
        bit = 1 << place
        for word in text.split(" "):
            words[word] = words.get(word, 0) | bit
    # A word of one memory has one bit, so that it is a power of two.
    return {f"'@{word}'": bits for word, bits in words.items() if bits & (bits - 1)}
