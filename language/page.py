"""A text prepared for the rules that find facts."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from language.masking import mask
from language.redaction import redact
from language.sentences import sentence_ends

MAX_TEXT = 64 * 1024
# Anything longer than two of these is not a sentence.
_STRETCH = 1000
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3})(?=[^\s*_])([^*_\n]{1,200}?)(?<=\S)\1(?![\w*])")
_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "`": "'", "´": "'"})
# The punctuation of texts that are written with full-width characters.
_FULL_WIDTH = str.maketrans("！？，；", "!?,;")
# No store takes these, so nothing that is found may contain them.
_NOT_STORABLE = re.compile(r"[\x00\ud800-\udfff]")


class Page:
    """The end of a text: secrets redacted, emphasis removed, quotations and code masked.

    `is_cut`: there was more before it, so its first sentence may not be whole.
    """

    def __init__(self, text: str) -> None:
        text, _ = redact(_NOT_STORABLE.sub(" ", text[-MAX_TEXT - 4096 :]))
        self.is_cut = len(text) > MAX_TEXT
        if self.is_cut:
            text = re.sub(r"\A\S*", "", text[-MAX_TEXT:], count=1)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if "*" in text or "_" in text:
            text = _EMPHASIS.sub(r"\2", text)
        self.text = text
        masked = mask(text).translate(_APOSTROPHES)
        # Before they are narrowed, because only full-width marks need no white space after them.
        self._ends = [0, *sentence_ends(masked)]
        self.masked = masked.translate(_FULL_WIDTH)
        self.stretches: set[int] = set()

    def sentences(self) -> Iterator[tuple[int, int]]:
        """The start and end of each sentence."""
        return pairwise(self._ends)

    def sentence_start(self, index: int) -> int:
        """The start of the sentence at this index, or of a stretch of one that is too long."""
        start = self._ends[bisect_right(self._ends, index) - 1]
        if index - start <= 2 * _STRETCH:
            return start
        stretch = index - index % _STRETCH
        self.stretches.add(stretch)
        return stretch

    def sentence(self, start: int, last: int) -> str:
        """The text from `start` to the end of the sentence at `last`, original and masked.

        Equal texts have equal facts.
        """
        place = bisect_right(self._ends, last)
        end = self._ends[place] if place < len(self._ends) else len(self.masked)
        return self.text[start:end] + "\n" + self.masked[start:end]
