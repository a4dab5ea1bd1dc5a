"""Plugins that get `browse` or `get` wrong."""

import json
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from contract import (
    CountGroup,
    CountRequest,
    CountResponse,
    ListRequest,
    ListResponse,
    Memory,
    NotFound,
)
from harness.example import ExamplePlugin, Row, Store
from harness.example.browse import Cursor
from tests.acceptance.harness.mutants import edited, mutant

# browse


@mutant("order is ignored.", "browse.newest", "browse.same-time", "browse.while-others-write")
class IgnoresOrder(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        return super().list_page(body.model_copy(update={"order": "id"}))


@mutant("newest has the oldest first.", "browse.newest")
class ListsOldestFirst(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        page = super().list_page(body)
        flipped = list(reversed(page.memories)) if body.order == "newest" else page.memories
        return page.model_copy(update={"memories": flipped})


@mutant("newest has pinned memories first.", "browse.newest")
class PinsFirst(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        page = super().list_page(body)
        if body.order != "newest" or body.fields != "full":
            return page
        ordered = sorted(page.memories, key=lambda it: not getattr(it, "pin", False))
        return page.model_copy(update={"memories": ordered})


@mutant("Of equal times the larger id comes first.", "browse.same-time")
class LargerIdFirst(Store):
    def newest_first(self, row: Row) -> tuple[timedelta, UUID]:
        since, key = super().newest_first(row)
        return since, UUID(int=2**128 - 1 - key.int)

    def comes_after(self, cursor: Cursor, row: Row, order: str) -> bool:
        if order == "id":
            return super().comes_after(cursor, row, order)
        last = next(it for it in self.live_rows(list(self.spaces)) if it.id == cursor.id)
        return self.newest_first(row) > self.newest_first(last)


@mutant("Of equal times one page loses the rest.", "browse.same-time")
class TimeIsTheCursor(Store):
    def comes_after(self, cursor: Cursor, row: Row, order: str) -> bool:
        if order == "id":
            return super().comes_after(cursor, row, order)
        return row.created_at < cursor.created_at


@mutant("Without an order the newest come first.", "browse.default-order", "listing.pages")
class NewestByDefault(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        return super().list_page(body.model_copy(update={"order": "newest"}))


@mutant("kinds is ignored in a listing.", "browse.kinds")
class ListsAllKinds(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        return super().list_page(body.model_copy(update={"kinds": None}))


@mutant("What is written as old during a listing appears in it.", "browse.while-others-write")
class LateComersAppear(Store):
    def comes_after(self, cursor: Cursor, row: Row, order: str) -> bool:
        return super().comes_after(
            Cursor(cursor.request, self.written, cursor.created_at, cursor.id), row, order
        )


@mutant("newest counts pages from the top.", "browse.while-others-write")
class OffsetPages(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        if body.order != "newest":
            return super().list_page(body)
        rows = sorted(self.matching(body), key=self.newest_first)
        start = int(body.cursor or 0)
        page = rows[start : start + body.limit]
        more = len(rows) > start + body.limit
        return ListResponse(
            memories=[row.to_memory() for row in page],
            next_cursor=str(start + body.limit) if more else None,
        )


@mutant("A changed memory moves to the front during a listing.", "browse.while-others-write")
class ChangesMove(Store):
    def keep(self, space: Any, row: Row) -> None:
        super().keep(space, row if row.id not in space.rows else _touched(row, self))


def _touched(row: Row, store: Store) -> Row:
    return Row(**{**vars(row), "created_at": store.now(), "number": store.written})


class _Loose(Store):
    """A cursor that does not belong to all of its request."""

    forgotten: ClassVar[dict[str, Any]] = {}

    def fingerprint(self, body: ListRequest) -> str:
        return super().fingerprint(body.model_copy(update=self.forgotten))


@mutant("A cursor does not know its order.", "browse.cursor-belongs")
class CursorOfAnyOrder(_Loose):
    forgotten: ClassVar[dict[str, Any]] = {"order": "id"}


@mutant("A cursor does not know its namespaces.", "browse.cursor-belongs")
class CursorOfAnyNamespace(_Loose):
    forgotten: ClassVar[dict[str, Any]] = {"namespaces": []}


@mutant("A cursor does not know its kinds.", "browse.cursor-belongs")
class CursorOfAnyKind(_Loose):
    forgotten: ClassVar[dict[str, Any]] = {"kinds": None}


@mutant("A cursor does not know its filter.", "browse.cursor-belongs")
class CursorOfAnyFilter(_Loose):
    forgotten: ClassVar[dict[str, Any]] = {"where": None}


@mutant("A cursor does not know its time span.", "browse.cursor-belongs")
class CursorOfAnyTime(_Loose):
    forgotten: ClassVar[dict[str, Any]] = {"created_after": None, "created_before": None}


@mutant("A cursor belongs to the spelling of the namespaces.", "browse.cursor-belongs")
class CursorOfTheSpelling(Store):
    def fingerprint(self, body: ListRequest) -> str:
        return super().fingerprint(body) + ",".join(body.namespaces)


@mutant("A cursor belongs to its limit.", "browse.cursor-belongs")
class CursorOfTheLimit(Store):
    def fingerprint(self, body: ListRequest) -> str:
        return f"{super().fingerprint(body)}{body.limit}"


@mutant("An unknown order is the default.", "browse.bad-requests")
class AnyOrder(ExamplePlugin):
    async def list_memories(self, request: Request) -> Response:
        body = json.loads(await request.body())
        if isinstance(body, dict) and body.get("order") not in ("id", "newest"):
            body.pop("order", None)
            request._body = json.dumps(body).encode()
        return await super().list_memories(request)


@mutant("count stops at 100.", "browse.count")
class CountsToAHundred(Store):
    def count(self, body: CountRequest) -> CountResponse:
        counted = super().count(body)
        return counted.model_copy(update={"count": min(counted.count, 100)})


@mutant("count takes a repeated name twice.", "browse.count")
class CountsTwice(Store):
    def count(self, body: CountRequest) -> CountResponse:
        total = sum(
            super(CountsTwice, self).count(body.model_copy(update={"namespaces": [name]})).count
            for name in body.namespaces
        )
        return super().count(body).model_copy(update={"count": total})


@mutant("count ignores kinds.", "browse.count")
class CountsAllKinds(Store):
    def count(self, body: CountRequest) -> CountResponse:
        return super().count(body.model_copy(update={"kinds": None}))


@mutant("count counts what has expired.", "browse.count-of-the-living")
class CountsTheDead(Store):
    def count(self, body: CountRequest) -> CountResponse:
        names = set(body.namespaces) & set(self.spaces)
        total = sum(len(self.spaces[name].rows) for name in names)
        plain = not (body.where or body.kinds or body.created_after or body.created_before)
        return super().count(body).model_copy(update={"count": total} if plain else {})


@mutant("groups are not ordered by size.", "browse.groups")
class GroupsByValue(Store):
    def group(self, rows: list[Row], field: str) -> list[CountGroup]:
        return sorted(super().group(rows, field), key=lambda it: str(it.value))


@mutant("Groups of one size come in the order of the rows.", "browse.groups")
class GroupsUnordered(Store):
    def group(self, rows: list[Row], field: str) -> list[CountGroup]:
        found = super().group(rows, field)
        found.reverse()
        return sorted(found, key=lambda it: -it.count)


@mutant("Numbers are ordered as text.", "browse.groups")
class NumbersAsText(Store):
    def group(self, rows: list[Row], field: str) -> list[CountGroup]:
        return sorted(super().group(rows, field), key=lambda it: (-it.count, str(it.value)))


@mutant("The group of those without the field is left out.", "browse.group-types")
class NoNullGroup(Store):
    def group(self, rows: list[Row], field: str) -> list[CountGroup]:
        return [it for it in super().group(rows, field) if it.value is not None]


@mutant("true and 1 are one group.", "browse.group-types")
class TrueGroupsWithOne(Store):
    def group(self, rows: list[Row], field: str) -> list[CountGroup]:
        found: dict[Any, int] = {}
        for it in super().group(rows, field):
            found[it.value] = found.get(it.value, 0) + it.count
        return [CountGroup(value=value, count=count) for value, count in found.items()]


@mutant("Values are grouped as text.", "browse.group-types")
class GroupsText(Store):
    def group(self, rows: list[Row], field: str) -> list[CountGroup]:
        return [
            CountGroup(value=None if it.value is None else str(it.value), count=it.count)
            for it in super().group(rows, field)
        ]


@mutant("Groups beyond 1,000 are cut off.", "browse.too-many-groups")
class CutsGroups(Store):
    def group(self, rows: list[Row], field: str) -> list[CountGroup]:
        return super().group(rows[:1000], field)


@mutant("The group null does not count towards 1,000.", "browse.too-many-groups")
class NullIsNoGroup(Store):
    def group(self, rows: list[Row], field: str) -> list[CountGroup]:
        return super().group([row for row in rows if field in (row.propagation or {})], field)


@mutant("The name of a group's field may be empty.", "browse.bad-counts")
class AnyGroupField(ExamplePlugin):
    async def count(self, request: Request) -> Response:
        body = json.loads(await request.body())
        if isinstance(body, dict) and body.get("group_by") == "":
            del body["group_by"]
            request._body = json.dumps(body).encode()
        return await super().count(request)


@mutant("browse is claimed but not served.", "negotiation.browse", without=("browse",))
class InertBrowse(ExamplePlugin):
    async def health(self, request: Request) -> Response:
        return edited(
            await super().health(request),
            lambda body: body | {"extensions": [*body["extensions"], "browse"]},
        )


# get


@mutant("get leaves out the optional fields.", "get.is-what-search-returns")
class BareGet(Store):
    def get(self, key: UUID, name: str) -> Memory:
        memory = super().get(key, name)
        return memory.model_copy(update={"pin": None, "propagation": None})


@mutant("get is served from before the last write.", "get.is-what-search-returns")
class StaleGet(Store):
    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[UUID, Memory] = {}

    def get(self, key: UUID, name: str) -> Memory:
        return self.cache.setdefault(key, super().get(key, name))


@mutant("get knows ids in lower case only.", "get.is-what-search-returns")
class LowerCaseGet(ExamplePlugin):
    async def get_memory(self, request: Request) -> Response:
        if request.path_params["id"] != request.path_params["id"].lower():
            raise NotFound("memory does not exist")
        return await super().get_memory(request)


@mutant("An unknown memory is null.", "get.unknown")
class NullMemory(ExamplePlugin):
    async def get_memory(self, request: Request) -> Response:
        try:
            return await super().get_memory(request)
        except NotFound:
            return Response("null", 200, media_type="application/json")


@mutant("get reads any namespace's memories.", "get.of-another-namespace")
class GetsAnything(Store):
    def get(self, key: UUID, name: str) -> Memory:
        return super().get(key, self.home.get(key, name))


@mutant("A memory of another namespace is not found.", "get.of-another-namespace")
class ForeignIsNotFound(Store):
    def get(self, key: UUID, name: str) -> Memory:
        if self.home.get(key) != name:
            raise NotFound("memory does not exist")
        return super().get(key, name)


@mutant("get returns what has expired.", "get.expired")
class GetsTheDead(Store):
    def get(self, key: UUID, name: str) -> Memory:
        space = self.spaces.get(name)
        if space is not None and key in space.rows:
            return space.rows[key].to_memory()
        return super().get(key, name)


@mutant("get returns memories of an expired namespace.", "get.expired")
class GetsFromTheDead(Store):
    def get(self, key: UUID, name: str) -> Memory:
        space = self.spaces.get(name)
        row = space.rows.get(key) if space is not None else None
        if row is not None and not self.is_past(row.expires_at):
            return row.to_memory()
        return super().get(key, name)


@mutant("get needs no namespace.", "get.bad-requests")
class GetNeedsNoNamespace(ExamplePlugin):
    async def get_memory(self, request: Request) -> Response:
        if "namespace" in request.query_params:
            return await super().get_memory(request)
        key = UUID(request.path_params["id"])
        memory = self.store.get(key, self.store.home.get(key, ""))
        return Response(memory.to_json(), 200, media_type="application/json")


@mutant("get is claimed but not served.", "negotiation.get", without=("get",))
class InertGet(ExamplePlugin):
    async def health(self, request: Request) -> Response:
        return edited(
            await super().health(request),
            lambda body: body | {"extensions": [*body["extensions"], "get"]},
        )
