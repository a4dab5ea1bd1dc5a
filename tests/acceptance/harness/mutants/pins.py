"""Plugins whose pins have too little or too much effect."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from contract import SearchRequest
from harness.example import ExamplePlugin, Row
from harness.example.search import rank
from tests.acceptance.harness.mutants import edited, mutant
from tests.acceptance.harness.ranking import Ranks, newest, plain


class _IgnoresPins(Ranks, ABC):
    """Ignores the pins of some searches."""

    @abstractmethod
    def ignores(self, body: SearchRequest) -> bool: ...

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
