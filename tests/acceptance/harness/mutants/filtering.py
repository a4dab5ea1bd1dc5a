"""Plugins that get `filter` wrong."""

import json
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from contract import (
    CountRequest,
    ListRequest,
    ListResponse,
    Memory,
    SearchRequest,
)
from harness.example import ExamplePlugin, Row, Store
from harness.example.browse import matches, scalar
from harness.example.search import rank
from tests.acceptance.harness.mutants import edited, mutant

Filtered = SearchRequest | ListRequest | CountRequest
LISTS = ("filter.in-listing",)


def without_where(body: Filtered) -> Filtered:
    return body.model_copy(update={"where": None})


def field_of(row: Row, name: str) -> Any:
    return (row.propagation or {}).get(name)


@mutant(
    "where is ignored.",
    "filter.strings",
    "filter.types",
    "filter.top-level",
    "filter.every-pair",
    "filter.before-limit",
    "filter.borders",
    "browse.count-filter",
    *LISTS,
)
class IgnoresWhere(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        return matches(row, without_where(body))


@mutant("true equals 1, as in Python.", "filter.types")
class TrueIsOne(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        return matches(row, without_where(body)) and all(
            field_of(row, name) == value for name, value in (body.where or {}).items()
        )


@mutant("Values are compared as text.", "filter.types")
class ComparesText(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        return matches(row, without_where(body)) and all(
            str(field_of(row, name)) == str(value) for name, value in (body.where or {}).items()
        )


@mutant("1 and 1.0 are different.", "filter.types")
class SpellingCounts(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        return matches(row, without_where(body)) and all(
            json.dumps(field_of(row, name)) == json.dumps(value)
            for name, value in (body.where or {}).items()
        )


@mutant("Strings match whatever their case.", "filter.strings")
class CaseBlindFilter(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        return matches(row, without_where(body)) and all(
            str(field_of(row, name)).lower() == str(value).lower()
            for name, value in (body.where or {}).items()
        )


@mutant("A part of a string is enough.", "filter.strings")
class PartOfAString(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        return matches(row, without_where(body)) and all(
            str(value) in str(field_of(row, name)) for name, value in (body.where or {}).items()
        )


@mutant("where is a containment test: a list that has the value matches.", "filter.top-level")
class ListsMatch(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        def equal(stored: Any, value: Any) -> bool:
            return stored == [value] or scalar(stored) == scalar(value)

        return matches(row, without_where(body)) and all(
            equal(field_of(row, name), value) for name, value in (body.where or {}).items()
        )


@mutant("A dot in a name leads into an object.", "filter.top-level")
class DotsAreAPath(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        def reach(name: str) -> Any:
            value: Any = row.propagation or {}
            for part in name.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            return value

        return matches(row, without_where(body)) and all(
            scalar(reach(name)) == scalar(value) for name, value in (body.where or {}).items()
        )


@mutant("One pair of several is enough.", "filter.every-pair")
class AnyPair(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        pairs = (body.where or {}).items()
        return matches(row, without_where(body)) and (
            not pairs or any(scalar(field_of(row, n)) == scalar(v) for n, v in pairs)
        )


@mutant("Only the first four pairs are looked at.", "filter.every-pair")
class FourPairs(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        four = dict(list((body.where or {}).items())[:4]) or None
        return matches(row, body.model_copy(update={"where": four}))


@mutant("The filter comes after the limit.", "filter.before-limit")
class FilterAfterLimit(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        rows = self.live_rows(body.namespaces)
        found = rank(rows, body.query, body.embedding, body.limit)
        return [row.to_memory(score) for row, score in found if matches(row, body)]


@mutant("A listing is filtered page by page, after the limit.", "filter.in-listing")
class ListingFilteredLate(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        page = super().list_page(body.model_copy(update={"where": None}))
        ids = {row.id for row in self.matching(body)}
        return ListResponse(
            memories=[it for it in page.memories if it.id in ids][:1], next_cursor=None
        )


@mutant("created_after is exclusive.", "filter.times")
class AfterIsExclusive(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        return row.created_at != body.created_after and matches(row, body)


@mutant("created_before is inclusive.", "filter.times", "negotiation.filter")
class BeforeIsInclusive(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        later = body.created_before and body.created_before + timedelta(microseconds=1)
        return matches(row, body.model_copy(update={"created_before": later}))


@mutant("The times of a filter are ignored.", "filter.times", "filter.in-listing")
class IgnoresTimes(Store):
    def is_wanted(self, row: Row, body: Filtered) -> bool:
        return matches(row, body.model_copy(update={"created_after": None, "created_before": None}))


@mutant("An empty span is refused.", "filter.times")
class EmptySpanRefused(ExamplePlugin):
    async def search(self, request: Request) -> Response:
        body = json.loads(await request.body())
        if body.get("created_after", "") >= body.get("created_before", "z"):
            return Response('{"code": "bad_request", "message": "created_after: is late"}', 400)
        return await super().search(request)


class _Cleans(ExamplePlugin):
    """Repairs a filter before it is read."""

    def clean(self, where: Any) -> Any:
        return where

    async def _repair(self, request: Request) -> None:
        body = json.loads(await request.body())
        if isinstance(body, dict) and "where" in body:
            body["where"] = self.clean(body["where"])
            if body["where"] is None:
                del body["where"]
            request._body = json.dumps(body).encode()
            request._stream_consumed = False

    async def search(self, request: Request) -> Response:
        await self._repair(request)
        return await super().search(request)


@mutant("An empty where does not filter.", "filter.bad-requests")
class EmptyWhere(_Cleans):
    def clean(self, where: Any) -> Any:
        return where or None


@mutant("Null as a value is left out.", "filter.bad-requests")
class NullValues(_Cleans):
    def clean(self, where: Any) -> Any:
        if isinstance(where, dict) and None in where.values():
            return {name: value for name, value in where.items() if value is not None} or None
        return where


@mutant("The ninth pair is left out.", "filter.bad-requests")
class NinePairs(_Cleans):
    def clean(self, where: Any) -> Any:
        return dict(list(where.items())[:8]) if isinstance(where, dict) else where


@mutant("Long strings are cut.", "filter.bad-requests")
class CutsValues(_Cleans):
    def clean(self, where: Any) -> Any:
        if not isinstance(where, dict):
            return where
        return {k: v[:512] if isinstance(v, str) else v for k, v in where.items()}


@mutant("Names longer than 32 characters are refused.", "filter.borders")
class ShortFieldNames(ExamplePlugin):
    async def search(self, request: Request) -> Response:
        body = json.loads(await request.body())
        if any(len(name) > 32 for name in body.get("where") or {}):
            return Response('{"code": "bad_request", "message": "where: long name"}', 400)
        return await super().search(request)


@mutant("filter is claimed but inert.", "negotiation.filter", "filter.times", without=("filter",))
class InertFilter(ExamplePlugin):
    async def health(self, request: Request) -> Response:
        return edited(
            await super().health(request),
            lambda body: body | {"extensions": [*body["extensions"], "filter"]},
        )
