"""Plugins in which things expire too late, too early or never."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from contract import (
    ListRequest,
    ListResponse,
    Memory,
    MemoryWrite,
    MemoryWriteResponse,
    Namespace,
    NamespacePatch,
    NamespaceUpsert,
    NotFound,
    SearchRequest,
)
from harness.example import ExamplePlugin, Row, Store
from harness.example.search import rank
from harness.example.store import Space
from tests.acceptance.harness.mutants import mutant


@mutant(
    "TTL is only enforced by a janitor, every two seconds.",
    "ttl.memory-expires-on-time",
    "ttl.namespace-expires-on-time",
)
class JanitorOnly(Store):
    def is_past(self, expires_at: datetime | None) -> bool:
        swept = self.now().replace(microsecond=0)
        return expires_at is not None and expires_at + timedelta(seconds=2) <= swept


@mutant("Memories expire up to a second too early.", "ttl.memory-expires-on-time")
class TooEarly(Store):
    def is_past(self, expires_at: datetime | None) -> bool:
        return super().is_past(expires_at and expires_at - timedelta(seconds=1))


def all_rows(store: Store, names: list[str]) -> list[Row]:
    """The rows of the namespaces, expired or not."""
    spaces = [store.spaces[name] for name in names if name in store.spaces]
    return [row for space in spaces for row in space.rows.values()]


@mutant("A text search returns what has expired.", "ttl.in-text-search")
class TextSeesTheDead(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        if not body.query:
            return super().search(body)
        rows = [
            r for n in body.namespaces if n in self.spaces for r in self.spaces[n].rows.values()
        ]
        return [row.to_memory(s) for row, s in rank(rows, body.query, None, body.limit)]


@mutant("A search by meaning returns what has expired.", "ttl.in-embedding-search")
class MeaningSeesTheDead(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        if not body.embedding:
            return super().search(body)
        rows = [
            r for n in body.namespaces if n in self.spaces for r in self.spaces[n].rows.values()
        ]
        return [row.to_memory(s) for row, s in rank(rows, None, body.embedding, body.limit)]


@mutant("A listing returns what has expired.", "ttl.in-listing")
class ListingSeesTheDead(Store):
    listing = False

    def list_page(self, body: ListRequest) -> ListResponse:
        self.listing = True
        try:
            return super().list_page(body)
        finally:
            self.listing = False

    def is_past(self, expires_at: datetime | None) -> bool:
        return not self.listing and super().is_past(expires_at)


@mutant(
    "The TTL of a namespace is ignored.",
    "ttl.namespace-expires-on-time",
    "ttl.no-write-into-an-expired-namespace",
    "ttl.put-makes-an-expired-namespace-anew",
    "ttl.put-keeps-the-ttl",
)
class NamespaceTtlIgnored(Store):
    def live_space(self, name: str) -> Space | None:
        return self.spaces.get(name)


@mutant(
    "Reads obey the TTL of a namespace, writes do not.", "ttl.no-write-into-an-expired-namespace"
)
class WritesIntoTheDead(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        space = self.spaces.get(name)
        if space is None or self.live_space(name) is not None:
            return super().write(name, body)
        stored, space.stored = space.stored, space.stored.model_copy(update={"expires_at": None})
        try:
            return super().write(name, body)
        finally:
            space.stored = stored


@mutant("A memory that expired before it was written is kept.", "ttl.past-is-never-returned")
class PastIsForever(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        if self.is_past(body.expires_at):
            body = body.model_copy(update={"expires_at": None})
        return super().write(name, body)


@mutant("Expired rows are left out after the limit.", "ttl.does-not-eat-the-limit")
class TheDeadEatTheLimit(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        spaces = [self.live_space(name) for name in dict.fromkeys(body.namespaces)]
        rows = [row for space in spaces if space for row in space.rows.values()]
        found = rank(rows, body.query, body.embedding, body.limit)
        return [row.to_memory(s) for row, s in found if not self.is_past(row.expires_at)]


@mutant("expires_at is cut to the second.", "ttl.is-returned")
class CutsTheFraction(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        cut = body.expires_at and body.expires_at.replace(microsecond=0)
        return super().write(name, body.model_copy(update={"expires_at": cut}))


@mutant("The offset of expires_at is dropped.", "ttl.is-returned")
class DropsTheOffset(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        request._body = (await request.body()).replace(b"+05:30", b"Z")
        return await super().write(request)


@mutant("PUT of an expired namespace refreshes it.", "ttl.put-makes-an-expired-namespace-anew")
class PutRevives(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        space = self.spaces.get(name)
        if space is not None and self.is_past(space.stored.expires_at):
            space.stored = space.stored.model_copy(update={"expires_at": None})
        return super().put_namespace(name, body)


@mutant(
    "PUT of an expired namespace brings its rows back.", "ttl.put-makes-an-expired-namespace-anew"
)
class RowsOutlive(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        old = self.spaces.get(name)
        rows: Iterable[Row] = list(old.rows.values()) if old else []
        stored = super().put_namespace(name, body)
        for row in rows:
            self.keep(self.spaces[name], row)
        return stored


@mutant(
    "An expired namespace cannot be rescued.",
    "ttl.patch-null-rescues",
    "ttl.patch-with-a-later-time-rescues",
)
class NoRescue(Store):
    def patch_namespace(self, name: str, body: NamespacePatch) -> Namespace:
        if self.live_space(name) is None:
            raise NotFound("the namespace has expired")
        return super().patch_namespace(name, body)


@mutant("Any PATCH rescues an expired namespace.", "ttl.other-patches-do-not-rescue")
class AnyPatchRescues(Store):
    def patch_namespace(self, name: str, body: NamespacePatch) -> Namespace:
        if name in self.spaces and self.live_space(name) is None and body.expires_at is None:
            values: dict[str, Any] = {"metadata": body.metadata, "expires_at": None}
            body = NamespacePatch(**values)
        return super().patch_namespace(name, body)


@mutant("PUT with the kind alone wipes the TTL.", "ttl.put-keeps-the-ttl")
class PutWipesTheTtl(Store):
    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        if "expires_at" not in body.model_fields_set:
            body = body.model_copy(update={"expires_at": None})
        return super().put_namespace(name, body)


@mutant("PATCH of the metadata wipes the TTL.", "ttl.put-keeps-the-ttl")
class PatchWipesTheTtl(Store):
    def patch_namespace(self, name: str, body: NamespacePatch) -> Namespace:
        if "expires_at" not in body.model_fields_set:
            body = body.model_copy(update={"expires_at": None})
        return super().patch_namespace(name, body)


@mutant("PATCH with null leaves the TTL.", "ttl.null-clears-the-ttl", "ttl.patch-null-rescues")
class NullLeavesTheTtl(Store):
    def patch_namespace(self, name: str, body: NamespacePatch) -> Namespace:
        if body.expires_at is None and name in self.spaces and body.metadata is None:
            return self.spaces[name].stored
        return super().patch_namespace(name, body)


@mutant("A TTL can only be made shorter.", "ttl.patch-moves-the-end")
class OnlyShorter(Store):
    def patch_namespace(self, name: str, body: NamespacePatch) -> Namespace:
        space = self.live_space(name)
        old = space.stored.expires_at if space else None
        if old is not None and body.expires_at is not None and body.expires_at > old:
            body = body.model_copy(update={"expires_at": old})
        return super().patch_namespace(name, body)
