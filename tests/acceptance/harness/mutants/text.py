"""Plugins that find the wrong words."""

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from contract import Memory, SearchRequest
from harness.example import Row, Store
from harness.example.search import fold, pinned_first
from tests.acceptance.harness.mutants import mutant
from tests.acceptance.harness.ranking import Ranks, newest, plain


class _Matches(Ranks, ABC):
    """Matches words differently; all that match, newest first."""

    @abstractmethod
    def matches(self, content: str, query: str) -> bool: ...

    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        if not body.query or not body.query.strip() or body.embedding is not None:
            return super().ranked(rows, body)
        found = [row for row in newest(rows) if self.matches(row.content, body.query)]
        return [row for row, _ in pinned_first([(row, None) for row in found])][: body.limit]


@mutant("Only the start of a content is searched.", "fts.finds-a-word")
class StartOnly(_Matches):
    def matches(self, content: str, query: str) -> bool:
        return fold(content).startswith(fold(query))


@mutant("Case counts.", "fts.case")
class CaseCounts(_Matches):
    def matches(self, content: str, query: str) -> bool:
        return query in content


@mutant("Several words are one phrase.", "fts.several-words")
class PhraseOnly(_Matches):
    def matches(self, content: str, query: str) -> bool:
        return fold(query) in fold(content)


@mutant("The newest match comes first, however weak.", "fts.better-match-first")
class NewestMatchFirst(_Matches):
    def matches(self, content: str, query: str) -> bool:
        return all(word in fold(content) for word in fold(query).split())


@mutant(
    "A text search looks into every namespace.",
    "fts.only-named-namespaces",
)
class TextLeaks(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        if body.query:
            body = body.model_copy(update={"namespaces": list(self.spaces)})
        return super().search(body)


@mutant("A text search ignores kinds.", "fts.with-kinds")
class TextIgnoresKinds(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        return super().search(body.model_copy(update={"kinds": None}) if body.query else body)


@mutant("A text search returns at most 20.", "fts.limit")
class TextLimitIs20(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        return super().search(body)[: 20 if body.query else None]


@mutant("Equal matches come in any order.", "fts.order-is-stable")
class UnstableMatches(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        found = list(super().ranked(rows, body))
        return found if plain(body) else random.sample(found, len(found))


@mutant("The text index keeps the old words of a memory.", "fts.follows-an-update")
class StaleIndex(_Matches):
    def __init__(self) -> None:
        super().__init__()
        self.words: dict[str, str] = {}

    def matches(self, content: str, query: str) -> bool:
        return fold(query) in fold(content)

    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        for row in rows:
            self.words.setdefault(str(row.id), row.content)
        if body.query:
            return [row for row in rows if body.query in self.words[str(row.id)]]
        return super().ranked(rows, body)

    def keep(self, space: Any, row: Row) -> None:
        self.words.setdefault(str(row.id), row.content)
        super().keep(space, row)


@mutant("A query is a regular expression.", "fts.awkward-queries")
class RegexQuery(_Matches):
    def matches(self, content: str, query: str) -> bool:
        return re.search(query, content, re.IGNORECASE) is not None


class _Words(_Matches):
    """Matches whole words, as far as it knows what words are."""

    fold: Callable[[str], str] = staticmethod(str.lower)
    word = r"\w+"
    left_out = frozenset[str]()
    shortest = 1

    def words(self, text: str) -> set[str]:
        found = re.findall(self.word, self.fold(text))
        return {w for w in found if w not in self.left_out and len(w) >= self.shortest}

    def matches(self, content: str, query: str) -> bool:
        wanted = self.words(query)
        return bool(wanted) and wanted <= self.words(content)


@mutant("Words of less than three letters are left out.", "fts.one-character")
class ShortWordsLeftOut(_Words):
    shortest = 3


@mutant("Stop words are left out of the query and of the index.", "fts.stop-words")
class StopWordsLeftOut(_Words):
    left_out = frozenset(["the", "who", "to", "be", "or", "not", "he", "said", "for", "of", "a"])


@mutant("Words are of ASCII letters.", "fts.any-script")
class AsciiWords(_Words):
    word = r"[a-z0-9_]+"


@mutant("Scripts without spaces are one long word.", "fts.any-script")
class SpacedWords(_Words):
    pass


@mutant("Names with signs in them are not found.", "fts.identifiers")
class LettersOnly(_Words):
    word = r"(?<!\S)[a-z]+(?!\S)"


@mutant("Accents count.", "fts.accents")
class AccentsCount(_Words):
    pass


@mutant("Only whole words are found.", "fts.start-of-a-word")
class WholeWords(_Words):
    pass
