"""How well memories answer a query, by its words."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from recall.candidate import BORDER, Candidate
from recall.words import query_words

WHOLE_QUERY: Final = 20
WORD_IN_KEY: Final = 6
WORD_IN_TEXT: Final = 3


class Query:
    """A query, ready to be compared with memories."""

    def __init__(self, text: str) -> None:
        whole = text.strip().lower()
        self._whole = None if not whole or BORDER in whole else whole
        self.words = query_words(text)

    def scores(self, candidates: Sequence[Candidate]) -> list[int]:
        """Of each memory the page's points: for the whole query 20 in content, key and metadata,
        for a word 6 in the key and 3 for each time in content and metadata."""
        points = [0] * len(candidates)
        text = "".join([one.text for one in candidates])
        starts = [0, *accumulate([len(one.text) for one in candidates])]
        for word in self.words:
            last_key = -1
            for place, offset in _places(text, starts, word):
                one = candidates[place]
                if offset < one.key_at or offset >= one.metadata_at:
                    points[place] += WORD_IN_TEXT
                elif place != last_key:
                    points[place] += WORD_IN_KEY
                    last_key = place
        if self._whole is not None:
            places = _places(text, starts, self._whole)
            for place, _ in {(it, _part(candidates[it], offset)) for it, offset in places}:
                points[place] += WHOLE_QUERY
        return points


def _places(text: str, starts: Sequence[int], wanted: str) -> Iterator[tuple[int, int]]:
    """For each time that `wanted` stands at the start of a word: in which text, and where in it."""
    is_word = wanted[0].isalnum()
    found = text.find(wanted)
    while found >= 0:
        if not is_word or found == 0 or not text[found - 1].isalnum():
            place = bisect_right(starts, found) - 1
            yield place, found - starts[place]
        found = text.find(wanted, found + 1)


def _part(candidate: Candidate, offset: int) -> int:
    """0 for content, 1 for the key, 2 for metadata."""
    return (offset >= candidate.key_at) + (offset >= candidate.metadata_at)
