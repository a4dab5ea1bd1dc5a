"""How common the words of a query are, as a sample of the newest memories shows.

A sample costs as much as a search, and what is common stays so for longer than a few seconds. So it
is kept for a moment. It decides what is looked up and not what is found: a search that finds less
than it may return takes a new one.
"""

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from plugin_postgres import sql
from plugin_postgres.lexicon import Fetch

_KEPT_SECONDS = 5.0
_MOST_KEPT = 500
_MOST_WORDS = 1_000
# How many memories a sample has, if they are in few namespaces.
_SIZE = 48
# How many of the namespaces are sampled.
_NAMESPACES = 16
# A smaller sample tells nothing.
_TELLING = 32
_WORD = re.compile(r"('@[^']*)'(:\*)?")


@dataclass(frozen=True, slots=True)
class Sample:
    """Some memories of the searched namespaces, and which words they have."""

    taken: int
    stored: float  # about how many memories the namespaces have, at least where these are few
    words: dict[str, int]  # how many of the sample have each, by template; those of one: left out

    @property
    def is_telling(self) -> bool:
        return self.taken >= _TELLING

    def seen(self, template: str) -> int:
        """About how many memories of the sample a template matches."""
        if (number := self.words.get(template)) is not None:
            return number
        if template[0] != "(" and template[-1] != "*":
            return 0
        number = 0
        for word, is_beginning in _WORD.findall(template):
            if is_beginning:
                number += sum(n for it, n in self.words.items() if it.startswith(word))
            else:
                number += self.words.get(f"{word}'", 0)
        return min(number, self.taken)

    def estimate(self, seen: int) -> int:
        """About how many memories have what `seen` of the sample have."""
        return round(seen * self.stored / self.taken)


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
        [(taken, stored, words)] = await fetch(sql.load("sample_words"), names, _SIZE)
        seen = Counter((words or "").split(" "))
        sample = Sample(
            taken=taken,
            stored=stored * len(namespaces) / len(names),
            words={f"'@{word}'": n for word, n in seen.most_common(_MOST_WORDS) if n > 1},
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
    step = max(1, len(namespaces) // _NAMESPACES)
    return len(namespaces), tuple(namespaces[::step][:_NAMESPACES])
