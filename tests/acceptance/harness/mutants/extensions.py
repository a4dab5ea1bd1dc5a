"""Plugins that get `batch` or `list` wrong."""

from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from contract import (
    BadRequest,
    BatchFailure,
    BatchWrite,
    ListRequest,
    ListResponse,
    MemoryDigest,
    MemoryWrite,
    MemoryWriteResponse,
    parse_writes,
)
from harness.example import ExamplePlugin, Store
from tests.acceptance.harness.mutants import edited, mutant

# batch


@mutant("batch writes everything into the first namespace.", "batch.writes-all")
class OneNamespace(ExamplePlugin):
    async def batch(self, request: Request) -> Response:
        self.first: str | None = None
        return await super().batch(request)

    def write_one(self, write: BatchWrite | BadRequest) -> MemoryWriteResponse | BatchFailure:
        if isinstance(write, BatchWrite):
            self.first = self.first or write.namespace
            write = write.model_copy(update={"namespace": self.first})
        return super().write_one(write)


@mutant("batch answers out of order.", "batch.answers-in-order", "batch.one-bad-write")
class OutOfOrder(ExamplePlugin):
    async def batch(self, request: Request) -> Response:
        def sort(body: dict[str, Any]) -> dict[str, Any]:
            return {"results": sorted(body["results"], key=lambda r: r.get("id", "z"))}

        return edited(await super().batch(request), sort)


@mutant("batch answers bad writes last.", "batch.one-bad-write")
class BadOnesLast(ExamplePlugin):
    async def batch(self, request: Request) -> Response:
        def sort(body: dict[str, Any]) -> dict[str, Any]:
            return {"results": sorted(body["results"], key=lambda r: "error" in r)}

        return edited(await super().batch(request), sort)


@mutant("One bad write fails the batch.", "batch.one-bad-write")
class AllOrNothing(ExamplePlugin):
    async def batch(self, request: Request) -> Response:
        for write in parse_writes(await request.body()):
            if isinstance(write, BadRequest):
                raise write
        return await super().batch(request)


@mutant("batch stops at the first bad write.", "batch.one-bad-write")
class StopsEarly(ExamplePlugin):
    async def batch(self, request: Request) -> Response:
        self.broken = False
        return await super().batch(request)

    def write_one(self, write: BatchWrite | BadRequest) -> MemoryWriteResponse | BatchFailure:
        if self.broken and isinstance(write, BatchWrite):
            write = BadRequest("a write before this one failed")
        result = super().write_one(write)
        self.broken = self.broken or isinstance(result, BatchFailure)
        return result


@mutant("batch takes 500 writes.", "batch.a-thousand")
class FiveHundred(ExamplePlugin):
    async def batch(self, request: Request) -> Response:
        if len((await request.json()).get("writes") or []) > 500:
            raise BadRequest("writes: at most 500")
        return await super().batch(request)


@mutant("batch takes 1,001 writes and drops the last.", "batch.a-thousand")
class DropsTheLast(ExamplePlugin):
    async def batch(self, request: Request) -> Response:
        try:
            return await super().batch(request)
        except BadRequest as error:
            if "1000" not in error.message:
                raise
            return Response('{"results": []}')


@mutant("An empty batch is fine.", "batch.malformed")
class EmptyBatch(ExamplePlugin):
    async def batch(self, request: Request) -> Response:
        if await request.body() == b'{"writes": []}':
            return Response('{"results": []}')
        return await super().batch(request)


@mutant("batch makes new ids for its writes.", "batch.is-idempotent", "batch.answers-in-order")
class NewIds(ExamplePlugin):
    def write_one(self, write: BatchWrite | BadRequest) -> MemoryWriteResponse | BatchFailure:
        if isinstance(write, BatchWrite):
            write = write.model_copy(update={"id": None})
        return super().write_one(write)


@mutant("batch ignores created_at.", "batch.keeps-created-at")
class BatchIgnoresCreatedAt(ExamplePlugin):
    def write_one(self, write: BatchWrite | BadRequest) -> MemoryWriteResponse | BatchFailure:
        if isinstance(write, BatchWrite):
            write = write.model_copy(update={"created_at": None})
        return super().write_one(write)


@mutant("batch moves the created_at of a known memory.", "batch.created-at-of-the-known")
class MovesCreatedAt(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        if isinstance(body, BatchWrite) and body.created_at and body.id in self.home:
            self.spaces[name].rows.pop(body.id, None)
        return super().write(name, body)


@mutant("Of two writes with one id the first stands.", "batch.same-id-twice")
class FirstOfTwo(ExamplePlugin):
    async def batch(self, request: Request) -> Response:
        self.seen: dict[Any, MemoryWriteResponse | BatchFailure] = {}
        return await super().batch(request)

    def write_one(self, write: BatchWrite | BadRequest) -> MemoryWriteResponse | BatchFailure:
        if not isinstance(write, BatchWrite) or write.id is None:
            return super().write_one(write)
        if write.id not in self.seen:
            self.seen[write.id] = super().write_one(write)
        return self.seen[write.id]


@mutant("batch drops pins and TTLs.", "batch.carries-every-field", "batch.does-not-keep-expired")
class BareBatch(ExamplePlugin):
    def write_one(self, write: BatchWrite | BadRequest) -> MemoryWriteResponse | BatchFailure:
        if isinstance(write, BatchWrite):
            write = write.model_copy(update={"pin": None, "expires_at": None})
        return super().write_one(write)


# list


@mutant("list is in the order of writing.", "listing.all-in-id-order")
class ByTime(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        page = super().list_page(body.model_copy(update={"limit": 1_000}))
        if body.cursor is not None or len(page.memories) > body.limit:
            return super().list_page(body)
        rows = self.live_rows(body.namespaces)
        return ListResponse(memories=[row.to_memory() for row in rows])


@mutant("list skips a row at a page boundary.", "listing.pages", "listing.while-others-write")
class SkipsAtTheBorder(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        page = super().list_page(body)
        if page.next_cursor is None or len(page.memories) < 2:
            return page
        return page.model_copy(update={"memories": page.memories[:-1]})


@mutant("list repeats a row at a page boundary.", "listing.pages", "listing.while-others-write")
class RepeatsAtTheBorder(Store):
    last: Any = None

    def list_page(self, body: ListRequest) -> ListResponse:
        page = super().list_page(body)
        if body.cursor is not None and self.last is not None and len(page.memories) < body.limit:
            page = page.model_copy(update={"memories": [self.last, *page.memories]})
        self.last = page.memories[-1] if page.memories else None
        return page


@mutant("A full last page has no memories after it, but a cursor for ever.", "listing.pages")
class EndlessCursor(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        page = super().list_page(body)
        cursor = page.next_cursor or body.cursor
        return page.model_copy(update={"next_cursor": cursor})


@mutant("list goes by offset, so that a forgotten row hides another.", "listing.while-others-write")
class ByOffset(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        start = int(body.cursor or 0)
        rows = sorted(self.live_rows(body.namespaces), key=lambda row: row.id)
        more = len(rows) > start + body.limit
        return ListResponse(
            memories=[row.to_memory() for row in rows[start : start + body.limit]],
            next_cursor=str(start + body.limit) if more else None,
        )


@mutant("list goes through one namespace after the other.", "listing.pages-across-namespaces")
class ListsNamespaceByNamespace(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        start = int(body.cursor or 0)
        rows = sorted(self.live_rows(body.namespaces), key=lambda row: (row.namespace, row.id))
        more = len(rows) > start + body.limit
        return ListResponse(
            memories=[row.to_memory() for row in rows[start : start + body.limit]],
            next_cursor=str(start + body.limit) if more else None,
        )


@mutant("A full listing leaves out propagation.", "listing.is-whole")
class NotWhole(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        page = super().list_page(body)
        bare = [memory.model_copy(update={"propagation": None}) for memory in page.memories]
        return page.model_copy(update={"memories": bare})


@mutant("The digest is of the trimmed content.", "listing.digest")
class OtherDigest(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        page = super().list_page(body)
        digests = []
        for memory in page.memories:
            if isinstance(memory, MemoryDigest):
                content = self.spaces[memory.namespace].rows[memory.id].content.strip()
                digest = sha256(content.encode()).hexdigest()
                memory = memory.model_copy(update={"content_sha256": digest})
            digests.append(memory)
        return page.model_copy(update={"memories": digests})


@mutant("The digest is in upper case.", "listing.digest")
class UpperCaseDigest(ExamplePlugin):
    async def list_memories(self, request: Request) -> Response:
        def shout(body: dict[str, Any]) -> dict[str, Any]:
            for memory in body["memories"]:
                if "content_sha256" in memory:
                    memory["content_sha256"] = memory["content_sha256"].upper()
            return body

        return edited(await super().list_memories(request), shout)


@mutant("list shows namespaces that are not named.", "listing.only-named-namespaces")
class ListLeaks(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        return super().list_page(body.model_copy(update={"namespaces": list(self.spaces)}))


@mutant("The default page of list is 1,000.", "listing.default-limit")
class LongPages(Store):
    def list_page(self, body: ListRequest) -> ListResponse:
        limit = body.limit if "limit" in body.model_fields_set else 1000
        return super().list_page(body.model_copy(update={"limit": limit}))


@mutant("list takes a limit of 0 for 1.", "listing.bad-requests")
class ZeroIsOne(ExamplePlugin):
    async def list_memories(self, request: Request) -> Response:
        request._body = (await request.body()).replace(b'"limit": 0', b'"limit": 1')
        return await super().list_memories(request)


@mutant("A cursor that the plugin did not make is a 500.", "listing.unknown-cursor")
class CursorBreaks(ExamplePlugin):
    async def list_memories(self, request: Request) -> Response:
        try:
            return await super().list_memories(request)
        except BadRequest as error:
            if error.message.startswith("cursor: must be the"):
                raise RuntimeError("not caught") from None
            raise
