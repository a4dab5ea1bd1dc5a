"""How well a memory answers a query, by its words."""

import json
from typing import Final

from recall.memory import Memory
from recall.words import query_words

WHOLE_QUERY: Final = 20
WORD_IN_KEY: Final = 6
WORD_IN_TEXT: Final = 3


class Query:
    """A query, ready to be compared with many memories."""

    def __init__(self, text: str) -> None:
        self._whole = text.strip().lower()
        self.words = query_words(text)

    def score(self, memory: Memory) -> int:
        """The page's points: whole query 20 each, a word 6 in the key and 3 each in the text."""
        content, key = memory.content.lower(), memory.key.lower()
        own = memory.caller_metadata if memory.metadata else None
        metadata = json.dumps(own, ensure_ascii=False).lower() if own else ""
        points = WORD_IN_TEXT * len(self._found(content)) + WORD_IN_KEY * len(set(self._found(key)))
        if metadata:
            points += WORD_IN_TEXT * len(self._found(metadata))
        if self._whole:
            points += WHOLE_QUERY * sum(map(self._stands_in, (content, key, metadata)))
        return points

    def _stands_in(self, text: str) -> bool:
        """Whether the whole query occurs in the text at the start of a word."""
        place = text.find(self._whole)
        while place > 0 and self._whole[0].isalnum() and text[place - 1].isalnum():
            place = text.find(self._whole, place + 1)
        return place >= 0

    def _found(self, text: str) -> list[str]:
        """The query's words in the text, as often as a word of the text begins with one."""
        found = []
        for word in self.words:
            place = text.find(word)
            while place >= 0:
                if place == 0 or not text[place - 1].isalnum():
                    found.append(word)
                place = text.find(word, place + 1)
        return found
