"""Plugins that do not return the newest memories, or not those that were requested."""

import random
from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response

from contract import BadRequest, Memory, NamespaceUpsert, NotFound, SearchRequest
from harness.example import ExamplePlugin, Row, Store
from harness.example.search import pinned_first
from tests.acceptance.harness.mutants import edited, mutant
from tests.acceptance.harness.ranking import Ranks, newest, plain


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
