"""How well memories match a query, judged by its words."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from recall.candidate import BORDER, Candidate
from recall.words import query_words

WHOLE_QUERY: Final = 20
WORD_IN_KEY: Final = 6
WORD_IN_TEXT: Final = 3
_WORD_START = re.compile(r"(?<![^\W_])(?=[^\W_])")
_WORD_END = re.compile(r"[\W_]")


class Query:
    """A query, prepared for comparison with memories."""

    def __init__(self, text: str) -> None:
        whole = text.strip().lower()
        self._whole = None if not whole or BORDER in whole else whole
        self.words = query_words(text)

    def scores(self, candidates: Sequence[Candidate]) -> list[int]:
        """The score of each memory: 20 for each of content, key and metadata with the whole query;
        per word 6 if it is in the key, and 3 for each occurrence in content and metadata."""
        points = [0] * len(candidates)
        text = "".join([one.text for one in candidates])
        starts = [0, *accumulate([len(one.text) for one in candidates])]
        find = text.find
        for word in self.words:
            last_key = -1
            found = find(word)
            while found >= 0:
                if not _is_start(text, found):
                    # Skip the rest of this word, so that `aaaa` is not tried at every `a`.
                    end = _WORD_END.search(text, found)
                    found = -1 if end is None else find(word, end.end())
                    continue
                place = bisect_right(starts, found) - 1
                one, offset = candidates[place], found - starts[place]
                if offset < one.key_at or offset >= one.metadata_at:
                    points[place] += WORD_IN_TEXT
                elif place != last_key:
                    points[place] += WORD_IN_KEY
                    last_key = place
                found = find(word, found + len(word))
        if self._whole is not None:
            for place in _holders(text, starts, candidates, self._whole):
                points[place] += WHOLE_QUERY
        return points


def _holders(
    text: str, starts: Sequence[int], candidates: Sequence[Candidate], whole: str
) -> Iterator[int]:
    """The index of the candidate for each content, key and metadata with `whole` at a word start.

    Each part is searched once, not once per occurrence, since a query may be as long as the part.
    """
    found = text.find(whole)
    while found >= 0:
        place = bisect_right(starts, found) - 1
        begin, end = _part(candidates[place], found - starts[place])
        begin, end = begin + starts[place], end + starts[place]
        if (
            not whole[0].isalnum()
            or _is_start(text, found)
            or _marked(whole) in _marked(text[begin:end])
        ):
            yield place
        found = text.find(whole, end)


def _is_start(text: str, index: int) -> bool:
    return index == 0 or not text[index - 1].isalnum()


def _marked(text: str) -> str:
    """The text with a border before each word, so that a substring match starts at a word."""
    return _WORD_START.sub(BORDER, text)


def _part(candidate: Candidate, offset: int) -> tuple[int, int]:
    """Start and end of the content, the key or the metadata at this offset."""
    if offset < candidate.key_at:
        return 0, candidate.key_at
    if offset < candidate.metadata_at:
        return candidate.key_at, candidate.metadata_at
    return candidate.metadata_at, len(candidate.text)
