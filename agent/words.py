"""Words for SQLite's full-text index, in any script."""

import re
import unicodedata

# Chinese, Japanese, Thai, Lao, Khmer and Burmese put no spaces between words. Each character is
# indexed as a word, and a run of them is searched as a phrase.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)

_MOST_WORDS = 100  # a model may pass a whole page; SQLite limits the size of an expression


def indexed(text: str) -> str:
    """The text as it is indexed."""
    return _UNSPACED.sub(r" \g<0> ", unicodedata.normalize("NFC", text))


def matching(query: str) -> str:
    """An FTS5 expression for texts with any of the query's words; "" if it has none."""
    words = list(dict.fromkeys(_words(query)))[:_MOST_WORDS]
    return " OR ".join(f'"{indexed(word).strip()}"' for word in words)


def _words(text: str) -> list[str]:
    """Vowel signs and accents are part of their word: without them it is other, shorter words."""
    runs = "".join(it if _is_in_word(it) else " " for it in text).split()
    return [run for run in runs if any(map(str.isalnum, run))]


def _is_in_word(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"
