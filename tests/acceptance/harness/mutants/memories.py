"""Plugins that mishandle writes, content, ids and forgetting."""

import asyncio
import re
import unicodedata
from abc import ABC, abstractmethod
from dataclasses import replace
from uuid import UUID, uuid5

from starlette.requests import Request
from starlette.responses import Response

from contract import (
    BadRequest,
    Forbidden,
    ForgetRequest,
    MemoryWrite,
    MemoryWriteResponse,
    NamespaceUpsert,
    NotFound,
    parse,
)
from harness.example import ExamplePlugin, Row, Store
from harness.example.store import Space
from tests.acceptance.harness.mutants import edited, mutant

# Writes


@mutant("A write answers without the namespace.", "writes.answers-id-and-namespace")
class NoNamespaceInTheAnswer(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        return edited(await super().write(request), lambda body: {"id": body["id"]})


@mutant("A write answers an id that nobody else knows.", "writes.answers-id-and-namespace")
class AnotherId(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        other = "00000000-0000-4000-8000-000000000000"
        return edited(await super().write(request), lambda body: body | {"id": other})


@mutant(
    "The id is made from the content, so equal contents are one memory.",
    "writes.makes-a-fresh-id",
    "forget.one-of-equals",
)
class IdFromContent(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        made = uuid5(UUID(int=1), f"{name} {body.content}")
        return super().write(name, body.model_copy(update={"id": body.id or made}))


@mutant("A null id is refused.", "writes.null-id-is-no-id")
class NullIdRefused(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        body = parse(MemoryWrite, await request.body())
        if "id" in body.model_fields_set and body.id is None:
            raise BadRequest("id: must be a UUID")
        return await super().write(request)


@mutant("A null id is an id like any other.", "writes.null-id-is-no-id")
class NullIdIsAnId(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        if "id" in body.model_fields_set and body.id is None:
            body = body.model_copy(update={"id": uuid5(UUID(int=2), name)})
        return super().write(name, body)


@mutant(
    "A write makes the namespace that does not exist.",
    "writes.unknown-namespace",
    "namespaces.patch-unknown",
    "search.does-not-change-anything",
    "ttl.no-write-into-an-expired-namespace",
    "deletion.no-write-afterwards",
)
class WriteMakesTheNamespace(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        if self.live_space(name) is None:
            self.put_namespace(name, NamespaceUpsert(kind="custom"))
        return super().write(name, body)


@mutant(
    "A write is answered 201 before the namespace is looked at, and dropped.",
    "writes.unknown-namespace",
)
class AnswersBeforeLooking(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        try:
            return await super().write(request)
        except NotFound:
            name = request.path_params["name"]
            made = MemoryWriteResponse(id=uuid5(UUID(int=3), name), namespace=name)
            return Response(made.to_json(), 201)


@mutant(
    "A write into an unknown namespace is 404, but waits there.",
    "writes.unknown-namespace",
)
class WritesWait(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        waiting: dict[str, list[MemoryWrite]] = self.__dict__.setdefault("waiting", {})
        try:
            return await super().write(request)
        except NotFound:
            body = parse(MemoryWrite, await request.body())
            waiting.setdefault(request.path_params["name"], []).append(body)
            raise

    async def put_namespace(self, request: Request) -> Response:
        waiting: dict[str, list[MemoryWrite]] = self.__dict__.setdefault("waiting", {})
        response = await super().put_namespace(request)
        name = request.path_params["name"]
        for body in waiting.pop(name, []):
            self.store.write(name, body)
        return response


@mutant("The source is always agent.", "writes.keeps-kind-and-source")
class OneSource(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        return super().write(name, body.model_copy(update={"source": "agent"}))


@mutant(
    "Times are answered with an offset of their own.", "writes.times-are-utc", "ttl.is-returned"
)
class LocalTimes(ExamplePlugin):
    async def search(self, request: Request) -> Response:
        response = await super().search(request)
        return Response(bytes(response.body).replace(b'Z"', b'+00:00"'), 200)


@mutant("created_at is cut to the hour.", "writes.created-at-is-now")
class HourlyClock(Store):
    def keep(self, space: Space, row: Row) -> None:
        made = row.created_at.replace(minute=0, second=0, microsecond=0)
        super().keep(space, replace(row, created_at=made))


@mutant("Blank content is kept.", "writes.content-is-required")
class BlankContent(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        try:
            return await super().write(request)
        except BadRequest as error:
            if "blank" not in error.message:
                raise
            made = MemoryWriteResponse(id=UUID(int=4), namespace=request.path_params["name"])
            return Response(made.to_json(), 201)


# Content


class _Rewrites(Store, ABC):
    """Keeps other content than was sent."""

    @abstractmethod
    def rewrite(self, content: str) -> str: ...

    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        content = self.rewrite(body.content)
        return super().write(name, body.model_copy(update={"content": content}))


@mutant("Content is trimmed.", "content.keeps-spaces", "listing.digest")
class Trims(_Rewrites):
    def rewrite(self, content: str) -> str:
        return content.strip()


@mutant("Line ends are made alike.", "content.keeps-spaces")
class OneLineEnd(_Rewrites):
    def rewrite(self, content: str) -> str:
        return content.replace("\r\n", "\n")


@mutant("Content is normalised to NFC.", "content.is-not-normalised")
class Nfc(_Rewrites):
    def rewrite(self, content: str) -> str:
        return unicodedata.normalize("NFC", content)


@mutant("Content keeps three-byte characters only, as an old MySQL does.", "content.any-script")
class NoFourByteCharacters(_Rewrites):
    def rewrite(self, content: str) -> str:
        return re.sub("[\U00010000-\U0010ffff]", "?", content)


@mutant("Control characters are dropped.", "content.awkward-characters")
class NoControlCharacters(_Rewrites):
    def rewrite(self, content: str) -> str:
        return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "", content)


@mutant("Markup is escaped.", "content.awkward-characters")
class Escapes(_Rewrites):
    def rewrite(self, content: str) -> str:
        return content.replace("<", "&lt;")


@mutant("Content is cut at 64 KiB.", "content.long", "content.long-multibyte")
class CutAt64KiB(_Rewrites):
    def rewrite(self, content: str) -> str:
        return content.encode()[: 64 * 1024].decode(errors="ignore")


@mutant("Content is cut at 1 MiB.", "content.long")
class CutAt1MiB(_Rewrites):
    def rewrite(self, content: str) -> str:
        return content[: 1024 * 1024 - 10]


# Ids


@mutant("A given id is ignored.", "idempotency.answers-the-given-id", "idempotency.ten-times")
class IgnoresTheId(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        return super().write(name, body.model_copy(update={"id": None}))


@mutant(
    "A repeated id inserts a second row.",
    "idempotency.same-id-updates-in-place",
    "idempotency.ten-times",
    "idempotency.hundred-at-once",
    "idempotency.id-made-by-the-plugin",
    "consistency.read-your-updates",
    "batch.is-idempotent",
    "batch.same-id-twice",
)
class InsertsTwice(Store):
    def keep(self, space: Space, row: Row) -> None:
        if row.id in space.rows:
            space.rows[UUID(int=len(self.home))] = space.rows[row.id]
            self.home[UUID(int=len(self.home))] = space.name
        super().keep(space, row)


@mutant(
    "A known id is acknowledged and not written.",
    "idempotency.same-id-updates-in-place",
    "fts.follows-an-update",
    "embedding.follows-an-update",
    "propagation.is-replaced",
)
class FirstWriteWins(Store):
    def keep(self, space: Space, row: Row) -> None:
        if row.id not in space.rows:
            super().keep(space, row)


@mutant(
    "A repeated id resets created_at.",
    "idempotency.keeps-created-at",
    "batch.is-idempotent",
    "batch.created-at-of-the-known",
)
class ResetsCreatedAt(Store):
    def keep(self, space: Space, row: Row) -> None:
        if row.id in space.rows:
            row = replace(row, created_at=self.now())
        super().keep(space, row)


@mutant(
    "A repeated id keeps the optional fields that are absent.",
    "idempotency.replaces-the-whole-memory",
    "pin.unpinned-by-a-write",
    "ttl.write-again-without",
)
class MergesMemories(Store):
    def keep(self, space: Space, row: Row) -> None:
        old = space.rows.get(row.id)
        if old is not None:
            row = replace(
                row,
                pin=row.pin or old.pin,
                expires_at=row.expires_at or old.expires_at,
                propagation=row.propagation or old.propagation,
            )
        super().keep(space, row)


@mutant(
    "Between the look-up of an id and its insert others may insert it.",
    "idempotency.hundred-at-once",
)
class RacingInsert(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        body = parse(MemoryWrite, await request.body())
        name = request.path_params["name"]
        known = body.id is not None and body.id in self.store.home
        await asyncio.sleep(0.001)
        if known or body.id is None or body.id not in self.store.home:
            return await super().write(request)
        # The row that came in between stays, and ours is inserted beside it.
        self.store.write(name, body.model_copy(update={"id": None}))
        return Response(MemoryWriteResponse(id=body.id, namespace=name).to_json(), 201)


@mutant(
    "An id of another namespace moves the row.",
    "idempotency.id-of-another-namespace",
    "idempotency.id-made-by-the-plugin",
    "batch.one-bad-write",
)
class MovesTheRow(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        home = self.home.get(body.id) if body.id else None
        if body.id and home is not None and home != name and self.live_space(name):
            del self.spaces[home].rows[body.id]
            del self.home[body.id]
        return super().write(name, body)


@mutant("An id of another namespace is written there.", "idempotency.id-of-another-namespace")
class WritesAcross(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        home = self.home.get(body.id, name) if body.id else name
        return super().write(home, body)


@mutant(
    "An id of another namespace is refused, and its row deleted.",
    "idempotency.id-of-another-namespace",
)
class RefusesAndDeletes(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        try:
            return super().write(name, body)
        except Forbidden:
            if body.id is not None:
                del self.spaces[self.home.pop(body.id)].rows[body.id]
            raise


@mutant("An id in upper case is another id.", "idempotency.case-of-the-id")
class CaseSensitiveIds(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        raw = await request.body()
        body = parse(MemoryWrite, raw)
        if body.id is not None and str(body.id).upper().encode() in raw:
            other = uuid5(UUID(int=5), str(body.id))
            name = request.path_params["name"]
            self.store.write(name, body.model_copy(update={"id": other}))
            return Response(MemoryWriteResponse(id=body.id, namespace=name).to_json(), 201)
        return await super().write(request)


@mutant("The id of a forgotten memory can never be used again.", "idempotency.forgotten-id-is-free")
class Tombstones(Store):
    def forget(self, key: UUID, requested_by: str) -> None:
        super().forget(key, requested_by)
        self.home[key] = "custom:the-dead"


# Forgetting


@mutant(
    "Forget answers 204 and keeps the memory.",
    "forget.removes-the-memory",
    "forget.twice",
    "consistency.read-your-forgets",
    "concurrency.forget-at-once",
)
class KeepsTheForgotten(Store):
    def forget(self, key: UUID, requested_by: str) -> None:
        if self.home.get(key) == requested_by:
            return
        super().forget(key, requested_by)


@mutant("Forget answers 200 with a body.", "forget.removes-the-memory")
class ForgetAnswers200(ExamplePlugin):
    async def forget(self, request: Request) -> Response:
        await super().forget(request)
        return Response("{}", 200)


@mutant("Forget of an unknown id is 204.", "forget.unknown-id", "forget.twice")
class ForgetUnknownSucceeds(ExamplePlugin):
    async def forget(self, request: Request) -> Response:
        try:
            return await super().forget(request)
        except NotFound:
            return Response(status_code=204)


@mutant("Forget of an unknown id deletes the newest memory.", "forget.unknown-id")
class ForgetsAnother(Store):
    def forget(self, key: UUID, requested_by: str) -> None:
        space = self.live_space(requested_by)
        if key not in self.home and space is not None and space.rows:
            super().forget(list(space.rows)[-1], requested_by)
        super().forget(key, requested_by)


@mutant("Forget ignores requested_by_namespace.", "forget.of-another-namespace")
class ForgetsForAnybody(Store):
    def forget(self, key: UUID, requested_by: str) -> None:
        super().forget(key, self.home.get(key, requested_by))


@mutant(
    "Forget refuses another namespace only if that exists.",
    "forget.of-another-namespace",
)
class ForgetsForNobody(Store):
    def forget(self, key: UUID, requested_by: str) -> None:
        asks = requested_by if requested_by in self.spaces else self.home.get(key, requested_by)
        super().forget(key, asks)


@mutant("Forget of another namespace's memory is 404.", "forget.of-another-namespace")
class ForgetHidesTheForeign(Store):
    def forget(self, key: UUID, requested_by: str) -> None:
        try:
            super().forget(key, requested_by)
        except Forbidden as error:
            raise NotFound(error.message) from None


@mutant("A bad UUID in the path is a 500.", "forget.bad-id")
class BadIdBreaks(ExamplePlugin):
    async def forget(self, request: Request) -> Response:
        UUID(request.path_params["id"])
        return await super().forget(request)


@mutant("Forget without a body forgets.", "forget.needs-the-namespace")
class ForgetNeedsNothing(ExamplePlugin):
    async def forget(self, request: Request) -> Response:
        if not await request.body():
            key = UUID(request.path_params["id"])
            self.store.forget(key, self.store.home[key])
            return Response(status_code=204)
        return await super().forget(request)


@mutant("Forget takes any string for a namespace.", "forget.needs-the-namespace")
class ForgetTakesAnyName(ExamplePlugin):
    async def forget(self, request: Request) -> Response:
        try:
            parse(ForgetRequest, await request.body())
        except BadRequest as error:
            if "pattern" in error.message:
                raise Forbidden("not yours") from None
        return await super().forget(request)


@mutant("Forget deletes every memory with the same content.", "forget.one-of-equals")
class ForgetsEquals(Store):
    def forget(self, key: UUID, requested_by: str) -> None:
        space = self.live_space(requested_by)
        row = space.rows.get(key) if space else None
        super().forget(key, requested_by)
        for other in list(space.rows.values()) if space and row else []:
            if row and other.content == row.content:
                super().forget(other.id, requested_by)
