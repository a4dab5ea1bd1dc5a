"""Plugins with the habits of a web framework or a JSON decoder."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from contract import (
    BadRequest,
    Memory,
    MemoryWrite,
    MemoryWriteResponse,
    Namespace,
    NamespaceUpsert,
    NotFound,
    SearchRequest,
    parse_time,
)
from harness.example import ExamplePlugin, Store
from harness.example.app import AnyModel, answer
from harness.example.store import Row, Space
from tests.acceptance.harness.mutants import edited, mutant
from tests.acceptance.harness.ranking import Ranks, newest


class Body(ExamplePlugin, ABC):
    """Reads bodies after changing their bytes."""

    @abstractmethod
    def change(self, body: bytes) -> bytes: ...

    async def read(self, model: type[AnyModel], request: Request) -> AnyModel:
        changed = self.change(await request.body())

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": changed, "more_body": False}

        return await super().read(model, Request(request.scope, receive))


@mutant("Only the first JSON value of a body is read.", "wire.trailing-bytes")
class FirstValueOnly(Body):
    def change(self, body: bytes) -> bytes:
        try:
            value, _ = json.JSONDecoder().raw_decode(body.decode().lstrip())
        except ValueError:
            return body
        return json.dumps(value).encode()


@mutant("Field names count in any case, the last one wins.", "wire.field-case")
class FieldsInAnyCase(Body):
    def change(self, body: bytes) -> bytes:
        try:
            value = json.loads(body)
        except ValueError:
            return body
        if not isinstance(value, dict):
            return body
        return json.dumps({key.lower(): item for key, item in value.items()}).encode()


@mutant("Bytes that are not UTF-8 become replacement characters.", "wire.invalid-utf8")
class ReplacesBadUtf8(Body):
    def change(self, body: bytes) -> bytes:
        return body.decode("utf-8", "replace").encode()


@mutant("White space around the JSON is refused.", "wire.white-space")
class NoWhiteSpace(Body):
    def change(self, body: bytes) -> bytes:
        return b"" if body != body.strip() else body


@mutant("Escaped surrogate pairs become question marks.", "wire.escapes")
class NoSurrogatePairs(Body):
    def change(self, body: bytes) -> bytes:
        return re.sub(rb"\\ud8..\\ud[c-f]..", b"??", body)


class Path(ExamplePlugin, ABC):
    """Routes by another path than the one that was sent."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        inner: ASGIApp = self.app

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                scope = {**scope, "raw_path": self.change(scope["raw_path"])}
            await inner(scope, receive, send)

        self.app: Any = app

    @abstractmethod
    def change(self, path: bytes) -> bytes: ...


@mutant("An encoded slash splits the path.", "wire.encoded-slash")
class SplitsAtEncodedSlashes(Path):
    def change(self, path: bytes) -> bytes:
        return re.sub(rb"(?i)%2f", b"/", path).removesuffix(b"/")


@mutant("Percent-encoded characters of a name are not decoded.", "wire.encoded-colon")
class DoesNotDecode(Path):
    def change(self, path: bytes) -> bytes:
        return path.replace(b"%", b"%25")


@mutant("What follows a semicolon is cut off.", "wire.semicolons")
class CutsAtSemicolons(Path):
    def change(self, path: bytes) -> bytes:
        return re.sub(rb";[^/]*", b"", path)


@mutant("An ending such as .json is cut off.", "wire.names-like-files")
class CutsFileEndings(Path):
    def change(self, path: bytes) -> bytes:
        return re.sub(rb"\.(json|html|xml)(?=/|$)", b"", path)


@mutant("A plus in the path is cut off as white space.", "wire.plus-is-not-a-space")
class PlusIsASpace(Path):
    def change(self, path: bytes) -> bytes:
        return re.sub(rb"\+(?=/|$)", b"", path)


@mutant("Dot segments are resolved after decoding.", "wire.dot-segments")
class ResolvesDots(Path):
    def change(self, path: bytes) -> bytes:
        decoded = path.replace(b"%2e", b".")
        return re.sub(rb"/[^/]+/\.\.(?=/)|/\.(?=/)", b"", decoded)


@mutant("Paths count in any case.", "wire.path-case")
class PathInAnyCase(Path):
    def change(self, path: bytes) -> bytes:
        return re.sub(rb"(?i)/v1/(health|search)", lambda found: found[0].lower(), path)


@mutant("Names that are not UTF-8 are a 500.", "wire.bad-percent-encoding")
class BadPercentBreaks(Path):
    def change(self, path: bytes) -> bytes:
        unquote(path.decode("latin-1"), errors="strict")
        return path


@mutant("A slash at the end is redirected.", "wire.trailing-slash")
class RedirectsSlashes(Path):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        inner = self.app

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["path"].endswith("/") and len(scope["path"]) > 1:
                await RedirectResponse(scope["path"].rstrip("/"))(scope, receive, send)
                return
            await inner(scope, receive, send)

        self.app = app

    def change(self, path: bytes) -> bytes:
        return path


@mutant("A query parameter wins over the body.", "wire.query-string")
class QueryParameterWins(ExamplePlugin):
    async def search(self, request: Request) -> Response:
        response = await super().search(request)
        limit = request.query_params.get("limit")
        if limit is None:
            return response
        return edited(response, lambda body: {"memories": body["memories"][: int(limit)]})


@mutant("A write may say when it was made.", "wire.fields-of-answers")
class TakesCreatedAt(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        made = re.search(rb'"created_at": ?"([^"]+)"', await request.body())
        response = await super().write(request)
        if made is not None and response.status_code == 201:
            key = parse_id(response)
            space = next(space for space in self.store.spaces.values() if key in space.rows)
            values = {**vars(space.rows[key]), "created_at": parse_time(made[1].decode())}
            self.store.keep(space, Row(**values))
        return response


def parse_id(response: Response) -> Any:
    """The id in the answer to a write."""
    return MemoryWriteResponse.model_validate_json(bytes(response.body)).id


@mutant("The name in the body of a PUT wins over the path.", "wire.fields-of-namespaces")
class NameInTheBody(ExamplePlugin):
    async def put_namespace(self, request: Request) -> Response:
        other = re.search(rb'"name": ?"([^"]+)"', await request.body())
        if other is None:
            return await super().put_namespace(request)
        body = await self.read(NamespaceUpsert, request)
        return answer(200, self.store.put_namespace(other[1].decode(), body))


@mutant("Refusals are text/plain.", "wire.errors-are-json")
class PlainErrors(ExamplePlugin):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        inner: ASGIApp = self.app

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            async def plain(message: Any) -> None:
                if message["type"] == "http.response.start" and message["status"] >= 400:
                    message = {**message, "headers": [(b"content-type", b"text/plain")]}
                await send(message)

            await inner(scope, receive, plain)

        self.app: Any = app


@mutant("Content that is JSON is stored as JSON and written out again.", "content.looks-like-json")
class ReadsContent(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        try:
            content = json.dumps(json.loads(body.content), separators=(",", ":"))
        except ValueError:
            content = body.content
        return super().write(name, body.model_copy(update={"content": content}))


@mutant("The key __proto__ vanishes.", "propagation.odd-keys")
class DropsProto(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        kept = {key: value for key, value in (body.propagation or {}).items() if key[0] != "_"}
        update = {"propagation": kept if body.propagation is not None else None}
        return super().write(name, body.model_copy(update=update))


@mutant("Strings that look like times are rewritten in UTC.", "propagation.strings-stay-strings")
class RewritesTimes(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        text = json.dumps(body.propagation).replace("T00:00:00+02:00", "T22:00:00Z")
        return super().write(name, body.model_copy(update={"propagation": json.loads(text)}))


@mutant("An unset time comes back as the year 1.", "writes.unset-is-unset")
class ZeroTimes(Store):
    def change(self, space: Space, body: Any) -> Namespace:
        stored = super().change(space, body)
        if stored.expires_at is not None:
            return stored
        return stored.model_copy(update={"expires_at": parse_time("0001-01-01T00:00:00Z")})


@mutant("An empty id counts as no id.", "errors.empty-uuid")
class EmptyIdIsNone(Body):
    def change(self, body: bytes) -> bytes:
        return body.replace(b'"id":""', b'"id":null').replace(b'"id": ""', b'"id": null')


@mutant("Whole numbers in an embedding are refused.", "embedding.whole-numbers")
class FloatsOnly(ExamplePlugin):
    async def read(self, model: type[AnyModel], request: Request) -> AnyModel:
        body = await request.body()
        if re.search(rb'"embedding": \[[^\]]*[\[ ]-?\d+[,\]]', body):
            raise BadRequest("embedding: must be floats")
        return await super().read(model, request)


@mutant("One zero vector empties every embedding search.", "embedding.zero-vector-spares-others")
class ZeroVectorBreaks(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        zeros = [row for row in rows if row.embedding is not None and not any(row.embedding)]
        return [] if zeros and body.embedding is not None else super().ranked(rows, body)


@mutant("A zero vector comes first.", "embedding.zero-vector-is-a-right-angle")
class ZeroVectorFirst(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        found = list(super().ranked(rows, body))
        if body.embedding is None:
            return found
        return sorted(found, key=lambda row: any(row.embedding or ()))


@mutant("A percent sign matches everything.", "fts.wildcards-are-characters")
class PercentMatchesAll(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        if body.query == "%":
            return newest(rows)[: body.limit]
        return super().ranked(rows, body)


@mutant("A minus leaves out the memories with the word.", "fts.operators-are-words")
class MinusExcludes(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        if body.query is not None and body.query.startswith("-"):
            return [row for row in rows if body.query[1:] not in row.content]
        return super().ranked(rows, body)


@mutant("A backslash at the end of a query is a 500.", "fts.awkward-ends")
class BackslashBreaks(Ranks):
    def ranked(self, rows: list[Row], body: SearchRequest) -> Iterable[Row]:
        if body.query is not None and body.query.endswith("\\"):
            raise RuntimeError("escape at the end of a pattern")
        return super().ranked(rows, body)


@mutant("A kind that is named twice finds its memories twice.", "search.kinds-twice")
class KindsTwice(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        found = super().search(body)
        twice = body.kinds is not None and len(set(body.kinds)) < len(body.kinds)
        return found + found if twice else found


@mutant("An id in upper case is unknown.", "forget.case-of-the-id")
class IdsInLowerCaseOnly(ExamplePlugin):
    async def forget(self, request: Request) -> Response:
        if request.path_params["id"] != request.path_params["id"].lower():
            raise NotFound("memory does not exist")
        return await super().forget(request)


@mutant("An offset other than Z is dropped.", "ttl.offsets-and-fractions")
class DropsOffsets(Body):
    def change(self, body: bytes) -> bytes:
        return re.sub(rb"[+-]\d\d:\d\d\"", b'Z"', body)


@mutant("health lists a capability twice.", "health.names-are-words")
class CapabilityTwice(ExamplePlugin):
    async def health(self, request: Request) -> Response:
        response = await super().health(request)
        return edited(response, lambda body: body | {"capabilities": body["capabilities"] * 2})
