"""Plugins that get the nearest vectors wrong, or use only one half of a hybrid search."""

import re
from collections.abc import Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from contract import BadRequest, Memory, SearchRequest
from harness.example import ExamplePlugin, Row, Store
from harness.example.search import by_score, by_text, similarity
from tests.acceptance.harness.mutants import mutant
from tests.acceptance.harness.ranking import Ranks, newest, plain


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
