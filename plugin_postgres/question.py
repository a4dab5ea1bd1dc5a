"""How a query is understood: which of its words count, how much, and in which forms.

`sql/search_all.sql`, `sql/search_few.sql`, `sql/search_some.sql` and `sql/search_found.sql` search
for it; docs/memory-plugins/search.md explains the ranking.

Templates are tsqueries for the word index, with '@' in place of the namespace's mark; without the
'@' they are tsqueries for content_tsv.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from plugin_postgres.vocabulary import (
    ENGLISH,
    FUNCTION_WORDS,
    IRREGULAR_FORMS,
    OTHER_LANGUAGES,
)

# At most this many words, and as many pairs of characters, count.
_TERMS = 32
# How much function words count, in English and in other languages.
_ENGLISH_FACTOR = 0.3
_OTHER_FACTOR = 0.1


class Reading(NamedTuple):
    """A query, parsed the way PostgreSQL parses memories."""

    folded: str
    words: list[str]
    lexemes: list[str]  # the distinct words
    stems: Mapping[str, str | None]  # also of their irregular forms; None for stop words
    phrase: str | None  # a tsquery: the words next to each other, if there are several
    grams: list[str]


class Question(NamedTuple):
    """A query taken apart."""

    folded: str
    terms: list[str]  # templates: the stem of each word, and each pair of characters
    factors: list[float]  # what each term counts, apart from how rare it is
    last_word: str | None  # if it may be unfinished: nothing follows it
    last_term: int  # its place in `terms`
    begun: str | None  # template: words that begin with the last one
    shorter: str | None  # template: shorter stems that such a word may have
    phrase: str | None
    literal: str | None  # the folded query, if it is more than words that count
    is_only_function: bool
    is_question: bool

    @property
    def begun_only(self) -> str | None:
        """Template: like `begun`, without the last word itself, which has a lookup of its own."""
        return None if self.begun is None else f"{self.begun} & !{self.terms[self.last_term]}"


def understand(reading: Reading) -> Question:
    """Take a query apart."""
    lexemes, stems = reading.lexemes, [reading.stems[lexeme] for lexeme in reading.lexemes]
    phrase = reading.phrase
    as_written = [part for part in reading.folded.split(" ") if part]
    # English function words have no stem; they count if there is nothing else, or in the literal.
    literal = None if as_written == reading.words and None not in stems else reading.folded
    is_only_function = bool(lexemes) and not any(stems) and not reading.grams
    english, language = stems.count(None), ""
    if is_only_function:
        stems, phrase, literal = list(lexemes), None, reading.folded

    terms: list[str] = []
    factors: list[float] = []
    places: dict[str, int] = {}
    for lexeme, stem in zip(lexemes, stems, strict=True):
        if stem is None or stem in places:
            continue
        if len(terms) == _TERMS:
            break
        places[stem] = len(terms)
        # Most words are neither, and a call would cost as much as the rest of the loop.
        forms, languages = IRREGULAR_FORMS.get(lexeme), FUNCTION_WORDS.get(lexeme)
        terms.append(f"'@{stem}'" if forms is None else _any_of(forms, reading.stems))
        if languages is not None:
            language = language or _language(lexemes, english)
        factors.append(1.0 if languages is None else _factor(languages, language))

    last_word = begun = shorter = None
    last_term = -1
    if reading.words and reading.folded.endswith(reading.words[-1]):
        word = reading.words[-1]
        stem = stems[lexemes.index(word)] if word in lexemes else None
        if stem is not None and stem in places:
            last_word, last_term, begun = word, places[stem], f"'@{word}':*"
            lengths = range(max(3, len(word) - 5), len(word))
            shorter = " | ".join(f"'@{word[:length]}'" for length in lengths) or None

    pairs = _pairs(reading.grams)
    return Question(
        folded=reading.folded,
        terms=terms + pairs,
        factors=factors + [1.0] * len(pairs),
        last_word=last_word,
        last_term=last_term,
        begun=begun,
        shorter=shorter,
        phrase=phrase,
        literal=literal,
        is_only_function=is_only_function,
        is_question=reading.folded.endswith("?"),
    )


def in_memory(template: str) -> str:
    """A template as a tsquery for content_tsv."""
    return template.replace("@", "")


def _any_of(forms: Iterable[str], stems: Mapping[str, str | None]) -> str:
    known = sorted({other for form in forms if (other := stems[form]) is not None})
    return "(" + " | ".join(f"'@{other}'" for other in known) + ")"


def _factor(languages: str, language: str) -> float:
    if ENGLISH in languages:
        return _ENGLISH_FACTOR
    return _OTHER_FACTOR if language in languages else 1.0


def _language(lexemes: Sequence[str], english: int) -> str:
    """The language with the most function words in the query, if it has more than English."""
    letters = "".join([FUNCTION_WORDS.get(lexeme, "") for lexeme in lexemes])
    most, language = english, "-"
    if len(letters) > 1:
        for letter in OTHER_LANGUAGES:
            if letters.count(letter) > most:
                most, language = letters.count(letter), letter
    return language


def _pairs(grams: Sequence[str]) -> list[str]:
    """A single character is the beginning of a pair, unless it only ends a run of them."""
    taken: dict[str, None] = {}
    for place, gram in enumerate(grams):
        if len(gram) == 2 or place == 0 or len(grams[place - 1]) == 1:
            taken[f"'@{gram}'" if len(gram) == 2 else f"'@{gram}':*"] = None
    return list(taken)[:_TERMS]
