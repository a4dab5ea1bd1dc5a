"""The tokenizer of uncased BERT models: turns texts into ids of word pieces."""

import unicodedata
from pathlib import Path

_LONGEST_WORD = 100


class WordPiece:
    """Splits words into the longest pieces in a vocabulary."""

    def __init__(self, vocabulary: Path) -> None:
        lines = vocabulary.read_text(encoding="utf-8").split("\n")
        self._numbers = {piece: number for number, piece in enumerate(lines)}
        self._unknown = self._numbers["[UNK]"]
        self._begin, self._end = self._numbers["[CLS]"], self._numbers["[SEP]"]

    def encode(self, text: str, most: int) -> list[int]:
        """The ids of a text, including start and end markers, at most `most`."""
        numbers = [self._begin]
        # Every word has at least one piece, so text beyond this cannot matter.
        for word in _words(text[: most * _LONGEST_WORD]):
            numbers += self._pieces(word)
            if len(numbers) >= most:
                break
        return [*numbers[: most - 1], self._end]

    def _pieces(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self._numbers.get(("##" if start else "") + word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return [self._unknown]
        return pieces


def _words(text: str) -> list[str]:
    """Words in lower case without accents; punctuation marks and Han characters are words."""
    spaced = []
    for character in text:
        code = ord(character)
        if code in (0, 0xFFFD) or _is_control(character):
            continue
        spaced.append(f" {character} " if _is_han(code) else character)
    words = []
    for word in "".join(spaced).split():
        word = unicodedata.normalize("NFD", word.lower())
        parted = []
        for character in word:
            if unicodedata.category(character) == "Mn":
                continue
            parted.append(f" {character} " if _is_mark(character) else character)
        words += "".join(parted).split()
    return words


def _is_control(character: str) -> bool:
    return character not in "\t\n\r" and unicodedata.category(character).startswith("C")


def _is_mark(character: str) -> bool:
    if character.isascii():
        return not character.isalnum() and character.isprintable()
    return unicodedata.category(character).startswith("P")


def _is_han(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0x20000 <= code <= 0x2A6DF
        or 0x2A700 <= code <= 0x2CEAF
        or 0xF900 <= code <= 0xFAFF
        or 0x2F800 <= code <= 0x2FA1F
    )
