"""How well a memory answers a query, by its words."""

import json
from typing import Final

from recall.memory import Memory
from recall.words import WORD, query_words

WHOLE_QUERY: Final = 20
WORD_IN_KEY: Final = 6
WORD_IN_TEXT: Final = 3


class Query:
    """A query, ready to be compared with many memories."""

    def __init__(self, text: str) -> None:
        self._whole = text.strip().lower()
        self.words = query_words(text)
        # Words are compared from their start, so only those with the same first letter matter.
        self._by_initial: dict[str, list[str]] = {}
        for word in self.words:
            self._by_initial.setdefault(word[0], []).append(word)

    def score(self, memory: Memory) -> int:
        """The page's points: whole query 20 each, a word 6 in the key and 3 each in the text."""
        content, key = memory.content.lower(), memory.key.lower()
        own = memory.caller_metadata
        metadata = json.dumps(own, ensure_ascii=False).lower() if own else ""
        if not self._may_match(f"{content}\n{key}\n{metadata}"):
            return 0
        points = WHOLE_QUERY * sum(self._stands_in(text) for text in (content, key, metadata))
        points += WORD_IN_TEXT * (self._count(content) + self._count(metadata))
        return points + WORD_IN_KEY * len(self._found(key))

    def _may_match(self, text: str) -> bool:
        """A quick look: most memories have nothing to do with a query."""
        return self._whole in text or any(word in text for word in self.words)

    def _stands_in(self, text: str) -> bool:
        """Whether the whole query stands in the text from the start of a word."""
        if not self._whole:
            return False
        place = text.find(self._whole)
        while place > 0 and self._whole[0].isalnum() and text[place - 1].isalnum():
            place = text.find(self._whole, place + 1)
        return place >= 0

    def _count(self, text: str) -> int:
        if not text:
            return 0
        known = self._by_initial
        return sum(
            found.startswith(word)
            for found in WORD.findall(text)
            if found[0] in known
            for word in known[found[0]]
        )

    def _found(self, text: str) -> set[str]:
        known = self._by_initial
        return {
            word
            for found in WORD.findall(text)
            if found[0] in known
            for word in known[found[0]]
            if found.startswith(word)
        }
