"""Splits texts into sentences, and long texts into parts.

A sentence ends at a line break, at `!`, `?` or `…`, at a period before white space, and at the full
stops of scripts that need no white space after them. The periods in `Node.js`, `3.11`, `e.g.` and
`Dr. Smith` do not end a sentence.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator

from language.words import words

# Possible ends of a sentence, including closing quotes and brackets.
_END = re.compile(
    r"""(?:[.!?…]{1,64}["'”’»)\]*_`]{0,8}(?=\s|\Z)|[。！？｡]{1,64}["'”’»」』）)\]]{0,8}|\r\n?
    |[\n\u2028\u2029])"""
)
_WORD_BEFORE = re.compile(r"(?:[^\W\d_]\.){1,4}\Z|[^\W\d_]{1,8}\.\Z")
_NEXT_WORD = re.compile(r"\s{0,64}[\"'“‘(\[]{0,4}([^\W\d_]{1,40})")
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*")

# A period after these never ends a sentence ...
_TITLES = words(
    """
    approx ca capt cf col dr e.g eg ft gen gov hon i.e ie lt mr mrs ms mt mx prof rep rev
    sen sgt st viz vs
    """
)
# ... after these, only if the next word starts like a sentence ...
_ENDINGS = words(
    """
    a.m al apr aug bros co corp dec dept e.u est etc feb inc jan jr jul jun ltd mar nov
    oct p.m ph.d sep sept sr u.k u.s
    """
)
# ... where a name may follow these, so that only such words start one: `the U.S. Army` ...
_COUNTRIES = words("e.u u.k u.s")
_STARTERS = words(
    """
    a after all also an and any are as at because before both but by can do does each even every
    for from has have he her here his how however i if in is it its just let many maybe most my
    no not now of on one or other our please she should since so some still than thanks that the
    their then there these they this those though to too two under until was we well what when
    where which while who why will with would yes yet you your
    """
)
# ... and after these, not before a number.
_BEFORE_NUMBERS = words("ch eq fig figs no nos p pp sec v vol")


def ends_sentence(text: str, period: int) -> bool:
    """Whether the period at this index, before white space or the end, ends a sentence."""
    before = _WORD_BEFORE.search(text, max(0, period - 9), period + 1)
    if before is None:
        return True
    word = before.group().rstrip(".")
    if _is_glued(text, before.start()):
        return True
    following = _next_character(text, period + 1)
    if not following:
        return True
    lower = word.lower()
    if lower in _TITLES:
        return False
    if lower in _COUNTRIES and following.isupper():
        return _next_word(text, period + 1).lower() in _STARTERS
    if lower in _ENDINGS:
        return following.isupper() and lower not in ("inc", "ltd", "co", "corp")
    if lower in _BEFORE_NUMBERS and following.isdecimal():
        return False
    return not (_is_initial(text, before.start(), word) and following.isupper())


def sentence_ends(text: str) -> Iterator[int]:
    """The end of each sentence, including closing quotes but not white space."""
    end = 0
    for found in _END.finditer(text):
        mark = found.group()
        if mark[0] in "\r\n\u2028\u2029":
            stripped = len(text[end : found.start()].rstrip())
            if stripped:
                yield end + stripped
            end = found.end()
        elif _ends(text, end, found):
            yield (end := found.end())
    if text[end:].strip():
        yield end + len(text[end:].rstrip())


def _ends(text: str, start: int, found: re.Match[str]) -> bool:
    mark = found.group().rstrip("\"'”’»」』）)]*_`")
    if mark == ".":
        before = text[max(start, found.start() - 5) : found.start()].strip()
        is_list_number = (
            before.isdecimal() and not text[start : max(start, found.start() - 5)].strip()
        )
        return bool(before) and not is_list_number and ends_sentence(text, found.start())
    if mark[-1] in ".…" and "!" not in mark and "?" not in mark:  # a pause or an end
        return not _next_character(text, found.end()).islower()
    return True


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, stripped."""
    start, found = 0, []
    for end in sentence_ends(text):
        found.append(text[start:end].strip())
        start = end
    return [it for it in found if it]


def first_sentences(text: str, count: int) -> str:
    """The text up to the end of its n-th sentence, verbatim; all of it if there are fewer."""
    cut = 0
    for number, end in enumerate(sentence_ends(text), start=1):
        if number > count:
            return text[:cut]
        cut = end
    return text


def split_text(text: str, limit: int) -> list[str]:
    """Split a text into non-blank parts of at most `limit` characters.

    A part ends at a paragraph break if that fills at least half of it; failing that, at the end of
    a sentence, between words, or anywhere but inside a character. Only white space between parts is
    lost.
    """
    if limit < 1:
        raise ValueError("limit must be at least 1")
    text = text.strip()
    if len(text) <= limit:
        return [text] if text else []
    paragraphs = [it.start() for it in _PARAGRAPH.finditer(text)]
    sentences = list(sentence_ends(text))
    parts, start = [], 0
    while len(text) - start > limit:
        end = _cut(text, start, limit, paragraphs, sentences)
        parts.append(text[start:end].rstrip())
        start = end
        while start < len(text) and text[start].isspace():
            start += 1
    return [it for it in (*parts, text[start:]) if it]


def _cut(text: str, start: int, limit: int, paragraphs: list[int], sentences: list[int]) -> int:
    most = start + limit
    for borders, least in ((paragraphs, start + limit // 2), (sentences, start)):
        at = bisect_right(borders, most)
        if at and borders[at - 1] > least:
            return borders[at - 1]
    if text[most].isspace():
        return most
    for end in range(most, start, -1):
        if text[end - 1].isspace():
            return end
    for end in range(most, max(start, most - 64), -1):
        if not _inside_character(text, start, end):
            return end
    return most  # more combining marks on one letter than any script has


def _inside_character(text: str, start: int, index: int) -> bool:
    """Whether a cut at this index would split a user-perceived character.

    Flags are pairs of letters, counted from `start`, where the part starts.
    """
    before, after = text[index - 1], text[index]
    if before.isascii() and after.isascii():
        return before == "\r" and after == "\n"
    if unicodedata.category(after)[0] == "M" or after in "\u200d\u200c":
        return True
    if before == "\u200d" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U000e0020" <= after <= "\U000e007f":  # the tags after a flag
        return True
    if _is_flag_letter(before) and _is_flag_letter(after):
        run = index
        while run > start and _is_flag_letter(text[run - 1]):
            run -= 1
        return (index - run) % 2 == 1
    return "\u1160" <= after <= "\u11ff" and (
        "\u1100" <= before <= "\u11ff" or "가" <= before <= "힣"
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _is_glued(text: str, start: int) -> bool:
    """Whether the word that starts here is only the tail of a longer one, like a file name."""
    return start > 0 and (text[start - 1].isalnum() or text[start - 1] in "._-/@")


def _next_word(text: str, start: int) -> str:
    found = _NEXT_WORD.match(text, start)
    return found[1] if found else ""


def _next_character(text: str, start: int) -> str:
    for index in range(start, min(len(text), start + 64)):
        if text[index] in "\r\n":
            return ""
        if not text[index].isspace() and text[index] not in "\"'“‘([":
            return text[index]
    return ""


def _is_initial(text: str, start: int, word: str) -> bool:
    """`J. Smith`, `George R. R. Martin`; but not the C of `I take vitamin C. It helps.`"""
    if len(word) != 1 or not word.isupper() or word == "I":
        return False
    before = text[max(0, start - 32) : start].rstrip().rsplit(None, 1)
    return not before or before[-1][:1].isupper()
