"""Parses a query the way PostgreSQL parses memories.

A query in ASCII is split here, into the same words as by PostgreSQL's parser. Their stems come from
PostgreSQL, once per word. Any other query is parsed by PostgreSQL, because folding and splitting
depend on its version and locale.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from plugin_postgres import sql
from plugin_postgres.question import Reading
from plugin_postgres.vocabulary import IRREGULAR_FORMS

Fetch = Callable[..., Awaitable[list[Any]]]

_LONGEST_QUERY = 10_000
_LONGEST_WORD = 255
_LONGEST_PHRASE = 1_000
# About 10 MB; a person's vocabulary is a tenth of it.
_MOST_STEMS = 50_000
_MOST_FILTERS = 1_000
_SPACE = " \t\n\r"
_DIGIT = re.compile("[0-9]")
_NO_WORD = re.compile("[^0-9a-z ]+")
# The parser treats such a number as a separate word, whatever follows it: 5e2x is 5e2 and x.
_NUMBER = re.compile("(?<![0-9a-z])[0-9]+e[0-9]")
_PART_OF_NUMBER = re.compile("[0-9]e[0-9]")  # a test that takes a fifth of the time


class Lexicon:
    """Stems of words, and filters, as PostgreSQL computes them; both are cached."""

    def __init__(self) -> None:
        self._stems: dict[str, str | None] = {}
        self._filters: dict[tuple[str, str | None], str] = {}

    async def read(self, fetch: Fetch, query: str) -> Reading:
        """Parse a query; `fetch` asks PostgreSQL for what is not known yet."""
        query = query[:_LONGEST_QUERY]
        folded = query.lower().strip(_SPACE)
        if not query.isascii() or (_PART_OF_NUMBER.search(folded) and _NUMBER.search(folded)):
            return await self._read_by_postgres(fetch, query)
        words = _NO_WORD.sub(" ", folded).split()
        if len(folded) > _LONGEST_WORD:
            words = [word[:_LONGEST_WORD] for word in words]
        lexemes = list(dict.fromkeys(words))
        stems = await self._stems_of(fetch, lexemes)
        phrase = _phrase(words, stems) if len(words) > 1 else None
        return Reading(folded, words, lexemes, stems, phrase, [])

    async def filter(self, fetch: Fetch, kinds: Sequence[str] | None, where: str | None) -> str:
        """What the kinds and fields of a search add to its lookups in the word index."""
        if kinds is None and where is None:
            return ""
        asked = ",".join(kinds or ()), where
        added = self._filters.get(asked)
        if added is None:
            [(added,)] = await fetch(sql.load("find_filter"), kinds, where)
            if len(self._filters) >= _MOST_FILTERS:
                self._filters.clear()
            self._filters[asked] = added
        return added

    async def _read_by_postgres(self, fetch: Fetch, query: str) -> Reading:
        [(folded, words, lexemes, phrase, grams)] = await fetch(sql.load("read_query"), query)
        stems = await self._stems_of(fetch, lexemes)
        return Reading(folded, words.split(), lexemes, stems, phrase or None, grams)

    async def _stems_of(self, fetch: Fetch, lexemes: Sequence[str]) -> Mapping[str, str | None]:
        """The stems of all known words, including these and their irregular forms."""
        known = self._stems
        unknown = [lexeme for lexeme in lexemes if lexeme not in known]
        if unknown:
            if len(known) > _MOST_STEMS:
                known = self._stems = {}
                unknown = list(lexemes)
            asked = {form for word in unknown for form in IRREGULAR_FORMS.get(word, (word,))}
            # As in the configuration `english`: a word with a digit is its own stem.
            stems = {word: word for word in asked if _DIGIT.search(word)}
            if stemmed := [word for word in asked if word not in stems]:
                stems.update(await fetch(sql.load("find_stems"), stemmed))
            known.update(stems)
        return known


def _phrase(words: Sequence[str], stems: Mapping[str, str | None]) -> str | None:
    """Like phraseto_tsquery: words that have no stem leave a gap."""
    phrase = ""
    length = gap = 0
    for word in words:
        length += len(word) + 1
        if length > _LONGEST_PHRASE:
            break
        stem = stems[word]
        gap += 1
        if stem is not None:
            phrase += f" <{gap}> '{stem}'" if phrase else f"'{stem}'"
            gap = 0
    return phrase or None
