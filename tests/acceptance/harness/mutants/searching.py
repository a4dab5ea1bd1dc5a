"""Plugins that find the wrong memories, or in the wrong order."""

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from contract import BadRequest, Memory, NamespaceUpsert, NotFound, SearchRequest
from harness.example import ExamplePlugin, Row, Store
from harness.example.search import by_score, by_text, fold, pinned_first, rank, similarity
from tests.acceptance.harness.mutants import edited, mutant


class Ranks(Store):
    """Ranks differently: `ranked` answers the rows in the wrong order, or the wrong rows."""

    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        return [row for row, _ in rank(rows, body.query, body.embedding, body.limit)]

    def search(self, body: SearchRequest) -> list[Memory]:
        rows = self.live_rows(body.namespaces)
        if body.kinds:
            rows = [row for row in rows if row.kind in body.kinds]
        return [row.to_memory() for row in self.ranked(rows, body)]


def newest(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.created_at, row.id), reverse=True)


def plain(body: SearchRequest) -> bool:
    return not body.query and body.embedding is None


# Newest first


@mutant("The oldest come first.", "search.newest-first", "limits.one-is-the-newest")
class OldestFirst(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        if not plain(body):
            return super().ranked(rows, body)
        ordered = pinned_first([(row, None) for row in newest(rows)[::-1]])
        return [row for row, _ in ordered][: body.limit]


@mutant(
    "One namespace comes after the other.",
    "search.newest-across-namespaces",
    "pin.across-namespaces",
)
class NamespaceByNamespace(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        found = []
        for name in dict.fromkeys(body.namespaces):
            found += super().search(body.model_copy(update={"namespaces": [name]}))
        return found[: body.limit]


@mutant(
    "memories is null when there are none.",
    "search.empty-is-a-list",
    "fts.nothing-found",
    "embedding.unknown-dimension",
)
class NullWhenEmpty(ExamplePlugin):
    async def search(self, request: Request) -> Response:
        response = await super().search(request)
        return edited(response, lambda body: {"memories": body["memories"] or None})


@mutant("Only the first namespace is searched.", "search.several-namespaces")
class FirstNamespaceOnly(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        return super().search(body.model_copy(update={"namespaces": body.namespaces[:1]}))


@mutant("An unknown namespace is 404.", "search.unknown-namespaces", "search.many-namespaces")
class UnknownIsNotFound(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        if any(self.live_space(name) is None for name in body.namespaces):
            raise NotFound("namespace does not exist")
        return super().search(body)


@mutant(
    "A namespace that is named twice counts twice.",
    "search.repeated-namespaces",
    "fts.only-named-namespaces",
)
class RepeatsNamespaces(Store):
    def live_rows(self, names: Iterable[str]) -> list[Row]:
        return [row for name in names for row in super(RepeatsNamespaces, self).live_rows([name])]


@mutant("At most 50 namespaces may be searched.", "search.many-namespaces")
class FewNamespaces(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        if len(body.namespaces) > 50:
            raise BadRequest("namespaces: at most 50")
        return super().search(body)


@mutant(
    "kinds is ignored.",
    "search.kinds",
    "search.kinds-before-limit",
    "fts.with-kinds",
    "embedding.with-kinds",
    "hybrid.filters",
)
class IgnoresKinds(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        return super().search(body.model_copy(update={"kinds": None}))


@mutant("Only the first of the kinds counts.", "search.kinds")
class FirstKindOnly(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        return super().search(body.model_copy(update={"kinds": (body.kinds or [])[:1]}))


@mutant(
    "kinds filters after the limit.",
    "search.kinds-before-limit",
    "embedding.with-kinds",
)
class FiltersTooLate(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        found = super().search(body.model_copy(update={"kinds": None}))
        return [memory for memory in found if not body.kinds or memory.kind in body.kinds]


@mutant("Rows of the same moment come in any order.", "search.order-is-stable")
class UnstableTies(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        if not plain(body):
            return super().ranked(rows, body)
        shuffled = random.sample(rows, len(rows))
        ordered = sorted(shuffled, key=lambda row: row.created_at.replace(microsecond=0))
        pairs = pinned_first([(row, None) for row in ordered[::-1]])
        return [row for row, _ in pairs][: body.limit]


@mutant("A search makes the namespaces it names.", "search.does-not-change-anything")
class SearchCreates(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        found = super().search(body)
        for name in body.namespaces:
            if self.live_space(name) is None:
                self.put_namespace(name, NamespaceUpsert(kind="custom"))
        return found


# Limits


@mutant("The default limit is 10.", "limits.default-is-20")
class DefaultIs10(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        limit = body.limit if "limit" in body.model_fields_set else 10
        return super().search(body.model_copy(update={"limit": limit}))


@mutant(
    "The limit is ignored.",
    "limits.default-is-20",
    "limits.one-is-the-newest",
    "limits.exactly-100",
    "fts.limit",
    "embedding.limit",
)
class IgnoresTheLimit(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        return super().search(body.model_copy(update={"limit": 1_000_000}))


@mutant("A limit of 100 returns 99.", "limits.exactly-100", "limits.complete-below")
class OneShort(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        return super().search(body)[: 99 if body.limit == 100 else None]


@mutant("Every namespace gives half of the limit.", "limits.complete-below")
class FairShare(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        if len(body.namespaces) != 2 or not plain(body):
            return super().search(body)
        halves = [
            super(FairShare, self).search(
                body.model_copy(update={"namespaces": [name], "limit": body.limit // 2})
            )
            for name in body.namespaces
        ]
        return halves[0] + halves[1]


class _Lenient(ExamplePlugin):
    """Reads a search with a limit that it should refuse."""

    def repair(self, limit: Any) -> Any:
        raise NotImplementedError

    async def search(self, request: Request) -> Response:
        try:
            return await super().search(request)
        except BadRequest as error:
            if not error.message.startswith("limit"):
                raise
            body = await request.json()
            limit = self.repair(body["limit"])
            repaired = SearchRequest(namespaces=body["namespaces"], limit=limit)
            memories = self.store.search(repaired)
            return Response(f'{{"memories": [{",".join(m.to_json().decode() for m in memories)}]}}')


@mutant("A limit of 101 is taken for 100.", "limits.101-is-refused")
class ClampsAbove(_Lenient):
    def repair(self, limit: Any) -> Any:
        return min(limit, 100)


@mutant("A limit of 0 is taken for the default.", "limits.0-is-refused")
class ZeroIsDefault(_Lenient):
    def repair(self, limit: Any) -> Any:
        return limit or 20


@mutant("A limit in a string is read as a number.", "limits.other-types-are-refused")
class LimitInAString(_Lenient):
    def repair(self, limit: Any) -> Any:
        return int(limit) if isinstance(limit, str) and limit.isdigit() else 101


# Text


class _Matches(Ranks):
    """Matches words differently; all that match, newest first."""

    def matches(self, content: str, query: str) -> bool:
        raise NotImplementedError

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


# Meaning


@mutant(
    "Embeddings rank backwards.",
    "embedding.nearest-first",
    "embedding.high-dimension",
    "embedding.follows-an-update",
    "consistency.in-embedding-search",
)
class Backwards(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        wanted = body.embedding
        if wanted is None:
            return super().ranked(rows, body)

        def distance(row: Row) -> float | None:
            score = similarity(row.embedding, wanted)
            return None if score is None else -score

        return [row for row, _ in by_score(newest(rows), distance)][: body.limit]


@mutant("At most 1,024 dimensions are kept.", "embedding.high-dimension")
class FewDimensions(Store):
    def write(self, name: str, body: Any) -> Any:
        if body.embedding is not None and len(body.embedding) > 1024:
            body = body.model_copy(update={"embedding": None})
        return super().write(name, body)


@mutant(
    "Vectors of other dimensions are compared as far as they go.",
    "embedding.unknown-dimension",
    "embedding.mixed-dimensions",
)
class TruncatesVectors(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        wanted = body.embedding
        if wanted is None:
            return super().ranked(rows, body)

        def score(row: Row) -> float | None:
            if row.embedding is None:
                return None
            return sum(a * b for a, b in zip(row.embedding, wanted, strict=False))

        return [row for row, _ in by_score(newest(rows), score)][: body.limit]


@mutant(
    "Another dimension is refused.", "embedding.unknown-dimension", "embedding.mixed-dimensions"
)
class OneDimension(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        sizes = {len(r.embedding) for r in self.live_rows(body.namespaces) if r.embedding}
        if body.embedding is not None and sizes and sizes != {len(body.embedding)}:
            raise BadRequest("embedding: has another dimension than the rows")
        return super().search(body)


@mutant("A search by meaning looks into every namespace.", "embedding.only-named-namespaces")
class MeaningLeaks(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        if body.embedding:
            body = body.model_copy(update={"namespaces": list(self.spaces)})
        return super().search(body)


@mutant("A memory keeps its first embedding.", "embedding.follows-an-update")
class StaleVectors(Store):
    def write(self, name: str, body: Any) -> Any:
        space = self.live_space(name)
        old = space.rows.get(body.id) if space else None
        if old is not None:
            body = body.model_copy(update={"embedding": old.embedding})
        return super().write(name, body)


@mutant(
    "Memories with an embedding are found by embedding only.", "embedding.plain-search-sees-all"
)
class HidesVectors(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        if plain(body):
            rows = [row for row in rows if row.embedding is None]
        return super().ranked(rows, body)


@mutant("Numbers in strings are read as numbers.", "embedding.bad-numbers")
class NumbersInStrings(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        request._body = re.sub(rb'\["1"\]', b"[1]", await request.body())
        return await super().write(request)


@mutant("1e999 in an embedding is a 500.", "embedding.bad-numbers")
class HugeNumbers(ExamplePlugin):
    async def search(self, request: Request) -> Response:
        if b"1e999" in await request.body():
            raise OverflowError
        return await super().search(request)


# Both


@mutant(
    "With both, only the words count.",
    "hybrid.both-count",
    "hybrid.one-side-finds-nothing",
    "hybrid.words-without-embedding",
)
class WordsOnly(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        return super().search(body.model_copy(update={"embedding": None}) if body.query else body)


@mutant(
    "With both, only the meaning counts.",
    "hybrid.both-count",
    "hybrid.words-without-embedding",
    "hybrid.one-side-finds-nothing",
)
class MeaningOnly(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        return super().search(body.model_copy(update={"query": None}) if body.embedding else body)


@mutant(
    "With both, a memory must match both.",
    "hybrid.both-count",
    "hybrid.words-without-embedding",
    "hybrid.one-side-finds-nothing",
)
class Intersection(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        if body.query and body.embedding:
            rows = [row for row, _ in by_text(rows, body.query) if row.embedding is not None]
        return super().ranked(rows, body)


@mutant("With both, the two lists are joined.", "hybrid.no-doubles")
class JoinedLists(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        if not (body.query and body.embedding):
            return super().search(body)
        words = super().search(body.model_copy(update={"embedding": None}))
        meaning = super().search(body.model_copy(update={"query": None}))
        return (words[: body.limit // 2] + meaning)[: body.limit]


@mutant("With both, the words look into every namespace.", "hybrid.filters")
class HybridLeaks(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        if body.query and body.embedding:
            body = body.model_copy(update={"namespaces": list(self.spaces)})
        return super().search(body)


# Pins


class _IgnoresPins(Ranks):
    """Ignores the pins of some searches."""

    def ignores(self, body: SearchRequest) -> bool:
        raise NotImplementedError

    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        if not self.ignores(body):
            return super().ranked(rows, body)
        pins = {row.id: row for row in rows}
        bare = [replace(row, pin=False) for row in rows]
        found = rank(bare, body.query, body.embedding, body.limit)
        return [pins[row.id] for row, _ in found]


@mutant("Text search ignores pins.", "pin.first-in-text-search")
class TextIgnoresPins(_IgnoresPins):
    def ignores(self, body: SearchRequest) -> bool:
        return bool(body.query) and body.embedding is None


@mutant("Search by meaning ignores pins.", "pin.first-in-embedding-search")
class MeaningIgnoresPins(_IgnoresPins):
    def ignores(self, body: SearchRequest) -> bool:
        return body.embedding is not None and not body.query


@mutant("Hybrid search ignores pins.", "pin.first-in-hybrid-search")
class HybridIgnoresPins(_IgnoresPins):
    def ignores(self, body: SearchRequest) -> bool:
        return bool(body.query) and body.embedding is not None


@mutant(
    "Only the newest rows are looked at for pins.",
    "pin.first-among-newest",
    "pin.across-namespaces",
)
class PinsAmongNewest(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        if plain(body):
            rows = newest(rows)[: body.limit]
        return super().ranked(rows, body)


@mutant("Pins come oldest first.", "pin.order-among-pins")
class OldPinsFirst(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        found = list(super().ranked(rows, body))
        pins = [row for row in found if row.pin]
        return pins[::-1] + [row for row in found if not row.pin]


@mutant(
    "Pins push the nearest out.",
    "pin.does-not-push-out-the-nearest",
    "pin.first-in-hybrid-search",
)
class PinsPushOut(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        found = rank(rows, body.query, body.embedding, 1_000_000)
        return [row for row, _ in found][: body.limit]


@mutant(
    "pin is always answered as true.", "pin.is-returned", "idempotency.replaces-the-whole-memory"
)
class AlwaysPinned(ExamplePlugin):
    async def search(self, request: Request) -> Response:
        response = await super().search(request)
        return edited(
            response, lambda body: {"memories": [m | {"pin": True} for m in body["memories"]]}
        )
