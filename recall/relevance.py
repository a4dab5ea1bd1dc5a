"""How well memories answer a query, by its words."""

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from recall.memory import Memory
from recall.words import query_words

WHOLE_QUERY: Final = 20
WORD_IN_KEY: Final = 6
WORD_IN_TEXT: Final = 3
# No memory holds this character, so nothing is found across the border of two texts.
_BORDER = "\x00"


class Texts:
    """The texts of many memories, joined: a word is looked for in all of them at once."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self.count = len(memories)
        self.contents = _Joined([memory.content for memory in memories])
        self.keys = _Joined([memory.key for memory in memories])
        self.metadata = None
        if any(memory.metadata for memory in memories):
            self.metadata = _Joined([_metadata(memory) for memory in memories])


class Query:
    """A query, ready to be compared with memories."""

    def __init__(self, text: str) -> None:
        self._whole = text.strip().lower()
        self.words = query_words(text)

    def scores(self, texts: Texts) -> list[int]:
        """Of each memory the page's points: for the whole query 20 in content, key and metadata,
        for a word 6 in the key and 3 for each time in content and metadata."""
        points = [0] * texts.count
        searched = [texts.contents, texts.keys]
        if texts.metadata is not None:
            searched.append(texts.metadata)
        for word in self.words:
            for place in texts.contents.places_of(word):
                points[place] += WORD_IN_TEXT
            for place in set(texts.keys.places_of(word)):
                points[place] += WORD_IN_KEY
            if texts.metadata is not None:
                for place in texts.metadata.places_of(word):
                    points[place] += WORD_IN_TEXT
        if self._whole:
            for joined in searched:
                for place in set(joined.places_of(self._whole)):
                    points[place] += WHOLE_QUERY
        return points

    def score(self, memory: Memory) -> int:
        """The points of one memory."""
        return self.scores(Texts([memory]))[0]


class _Joined:
    """Texts in lower case, one behind the other."""

    def __init__(self, texts: Sequence[str]) -> None:
        lower = [text.lower() for text in texts]
        self._text = _BORDER.join(lower)
        self._starts = list(accumulate((len(text) + 1 for text in lower[:-1]), initial=0))

    def places_of(self, wanted: str) -> Iterator[int]:
        """The number of the text for each time that it has `wanted` from the start of a word."""
        text, starts = self._text, self._starts
        is_word = wanted[0].isalnum()
        found = text.find(wanted)
        while found >= 0:
            if not is_word or found == 0 or not text[found - 1].isalnum():
                yield bisect_right(starts, found) - 1
            found = text.find(wanted, found + 1)


def _metadata(memory: Memory) -> str:
    own = memory.caller_metadata if memory.metadata else None
    return json.dumps(own, ensure_ascii=False) if own else ""
