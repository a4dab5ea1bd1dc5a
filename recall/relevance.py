"""How well memories answer a query, by its words."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from recall.candidate import Candidate
from recall.words import query_words

WHOLE_QUERY: Final = 20
WORD_IN_KEY: Final = 6
WORD_IN_TEXT: Final = 3
# No memory holds this character: nothing is found across the border of two texts.
_BORDER = "\x00"


class Query:
    """A query, ready to be compared with memories."""

    def __init__(self, text: str) -> None:
        whole = text.strip().lower()
        self._whole = "" if _BORDER in whole else whole
        self.words = query_words(text)

    def scores(self, candidates: Sequence[Candidate]) -> list[int]:
        """Of each memory the page's points: for the whole query 20 in content, key and metadata,
        for a word 6 in the key and 3 for each time in content and metadata."""
        points = [0] * len(candidates)
        contents = _Joined([one.content for one in candidates])
        keys = _Joined([one.key for one in candidates])
        metadata = _Joined([one.metadata for one in candidates])
        for word in self.words:
            for place in contents.places_of(word):
                points[place] += WORD_IN_TEXT
            for place in set(keys.places_of(word)):
                points[place] += WORD_IN_KEY
            for place in metadata.places_of(word):
                points[place] += WORD_IN_TEXT
        if self._whole:
            for joined in (contents, keys, metadata):
                for place in set(joined.places_of(self._whole)):
                    points[place] += WHOLE_QUERY
        return points


class _Joined:
    """Texts one behind the other: a word is looked for in all of them at once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._text = _BORDER.join(texts)
        self._starts = list(accumulate([len(text) + 1 for text in texts[:-1]], initial=0))

    def places_of(self, wanted: str) -> Iterator[int]:
        """The number of the text for each time that it has `wanted` from the start of a word."""
        text, starts = self._text, self._starts
        is_word = wanted[0].isalnum()
        found = text.find(wanted)
        while found >= 0:
            if not is_word or found == 0 or not text[found - 1].isalnum():
                yield bisect_right(starts, found) - 1
            found = text.find(wanted, found + 1)
