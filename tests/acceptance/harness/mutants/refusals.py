"""Plugins that refuse valid input, accept invalid input, or fail on it."""

import json
import re
from abc import ABC, abstractmethod
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from contract import BadRequest, MemoryWrite, NotFound, parse
from harness.example import ExamplePlugin
from harness.example.app import AnyModel
from tests.acceptance.harness.mutants import mutant


class Breaks(ExamplePlugin, ABC):
    """Answers 500 to some bodies that it should refuse."""

    @abstractmethod
    def breaks(self, body: bytes) -> bool: ...

    async def read(self, model: type[AnyModel], request: Request) -> AnyModel:
        if self.breaks(await request.body()):
            raise RuntimeError("not caught")
        return await super().read(model, request)


@mutant("A body that is not JSON is a 500.", "errors.not-json")
class BadJsonBreaks(Breaks):
    def breaks(self, body: bytes) -> bool:
        return body == b"{"


@mutant("A body that is not UTF-8 is a 500.", "errors.not-json")
class BadUtf8Breaks(Breaks):
    def breaks(self, body: bytes) -> bool:
        return b"\xff" in body


@mutant("A body that is a list is a 500.", "errors.not-an-object")
class ListBreaks(Breaks):
    def breaks(self, body: bytes) -> bool:
        return body == b"[]"


@mutant("A bad id in a write is a 500.", "errors.bad-uuid")
class BadUuidBreaks(Breaks):
    def breaks(self, body: bytes) -> bool:
        return b"not-a-uuid" in body


@mutant("The NUL character is a 500.", "errors.nul-character", "batch.one-bad-write")
class NulBreaks(Breaks):
    def breaks(self, body: bytes) -> bool:
        return b"\\u0000" in body

    async def batch(self, request: Request) -> Response:
        if self.breaks(await request.body()):
            raise RuntimeError("not caught")
        return await super().batch(request)


@mutant("A lone surrogate is a 500.", "errors.lone-surrogate")
class SurrogateBreaks(Breaks):
    def breaks(self, body: bytes) -> bool:
        return re.search(rb"\\ud[89a-f]..", body) is not None


@mutant("Deep nesting is a 500.", "errors.deep-nesting")
class DepthBreaks(Breaks):
    def breaks(self, body: bytes) -> bool:
        return b"[" * 1000 in body


@mutant("A query that is not a string is a 500.", "errors.bad-queries")
class BadQueryBreaks(Breaks):
    def breaks(self, body: bytes) -> bool:
        return b'"query": [' in body


class _Repairs(ExamplePlugin):
    """Accepts what it should refuse, by changing it first."""

    repairs: tuple[tuple[bytes, bytes], ...] = ()

    async def read(self, model: type[AnyModel], request: Request) -> AnyModel:
        body = await request.body()
        for bad, good in self.repairs:
            body = body.replace(bad, good)
        return self.understand(parse(model, body))


@mutant("An empty body is taken for an empty object.", "errors.not-json")
class EmptyIsAnObject(ExamplePlugin):
    async def search(self, request: Request) -> Response:
        if not await request.body():
            return Response('{"memories": []}')
        return await super().search(request)


@mutant("A missing source is taken for agent.", "errors.missing-fields")
class DefaultSource(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        try:
            return await super().write(request)
        except BadRequest as error:
            if "source: is required" not in error.message:
                raise
            bare = MemoryWrite(content="x", kind="fact", source="agent")
            return Response(self.store.write(request.path_params["name"], bare).to_json(), 201)


@mutant("A refusal does not name the field.", "errors.missing-fields", "errors.bad-uuid")
class NamesNoField(ExamplePlugin):
    async def read(self, model: type[AnyModel], request: Request) -> AnyModel:
        try:
            return await super().read(model, request)
        except BadRequest:
            raise BadRequest("the request is wrong") from None


@mutant("A number is taken for content.", "errors.wrong-types-in-a-write")
class NumbersAreContent(_Repairs):
    repairs = ((b'"content": 7', b'"content": "7"'),)


@mutant("A name in the place of a list is taken for one.", "errors.wrong-types-in-a-search")
class NameIsAList(ExamplePlugin):
    async def read(self, model: type[AnyModel], request: Request) -> AnyModel:
        body = re.sub(rb'("namespaces": )("[^"]+")', rb"\1[\2]", await request.body())
        return self.understand(parse(model, body))


@mutant("Metadata may be a list.", "errors.wrong-types-in-a-namespace")
class MetadataIsAList(_Repairs):
    repairs = ((b'"metadata": []', b'"metadata": {}'),)


@mutant("Unknown kinds become custom ones.", "errors.wrong-types-in-a-namespace")
class UnknownKindIsCustom(_Repairs):
    repairs = ((b'"galaxy"', b'"custom"'),)


@mutant("Words are taken in any case.", "errors.unknown-words")
class AnyCase(_Repairs):
    repairs = ((b'"Fact"', b'"fact"'), (b'"AGENT"', b'"agent"'))


@mutant("Unknown sources are taken.", "errors.unknown-words")
class AnySource(_Repairs):
    repairs = ((b'"robot"', b'"agent"'),)


@mutant("A time without an offset is taken for UTC.", "errors.bad-times")
class NoOffset(_Repairs):
    repairs = ((b'"2099-01-01T00:00:00"', b'"2099-01-01T00:00:00Z"'),)


@mutant("A time may be a number of seconds.", "errors.bad-times")
class UnixTimes(_Repairs):
    repairs = ((b"4070908800", b'"2099-01-01T00:00:00Z"'),)


@mutant('"true" is taken for true.', "errors.bad-pins")
class PinInAString(_Repairs):
    repairs = ((b'"pin": "true"', b'"pin": true'),)


@mutant("1 is taken for true.", "errors.bad-pins")
class PinIsANumber(_Repairs):
    repairs = ((b'"pin": 1', b'"pin": true'),)


@mutant("The NUL character is dropped.", "errors.nul-character")
class DropsNul(_Repairs):
    repairs = ((b"\\u0000", b""),)


@mutant("A lone surrogate is replaced.", "errors.lone-surrogate")
class ReplacesSurrogates(ExamplePlugin):
    async def read(self, model: type[AnyModel], request: Request) -> AnyModel:
        body = re.sub(rb"\\ud[89a-f]..", rb"\\ufffd", await request.body())
        return self.understand(parse(model, body))


class _Answers(ExamplePlugin, ABC):
    """Answers errors in its own way."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.app.exception_handlers = {**self.app.exception_handlers, HTTPException: self.error}

    @abstractmethod
    async def error(self, request: Request, error: Exception) -> Response: ...


@mutant("The 404 of a path is text.", "errors.unknown-path", "negotiation.list", without=("list",))
class TextNotFound(_Answers):
    async def error(self, request: Request, error: Exception) -> Response:
        return Response(f"{request.url.path} not found", getattr(error, "status_code", 500))


@mutant("The 405 has the framework's own body.", "errors.unknown-method")
class OwnMethodNotAllowed(_Answers):
    async def error(self, request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        body = {"detail": f"{request.method} Not Allowed"}
        if status == 404:
            body = {"code": "not_found", "message": "no such path"}
        return Response(json.dumps(body), status, media_type="application/json")


@mutant("The 404 of a memory is not an envelope.", "forget.unknown-id", "generated.stateful")
class BareMemoryNotFound(ExamplePlugin):
    async def forget(self, request: Request) -> Response:
        try:
            return await super().forget(request)
        except NotFound:
            return Response('{"error": "no such memory"}', 404)


@mutant("The 404 has another code.", "writes.unknown-namespace", "namespaces.patch-unknown")
class OwnCode(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        try:
            return await super().write(request)
        except NotFound:
            return Response('{"code": "namespace_missing", "message": "PUT it first"}', 404)

    async def patch_namespace(self, request: Request) -> Response:
        try:
            return await super().patch_namespace(request)
        except NotFound:
            return Response('{"code": 404, "message": "PUT it first"}', 404)


@mutant("A refusal repeats the body.", "errors.hold-no-content")
class RepeatsTheBody(ExamplePlugin):
    async def read(self, model: type[AnyModel], request: Request) -> AnyModel:
        try:
            return await super().read(model, request)
        except BadRequest as error:
            body = (await request.body()).decode(errors="replace")
            raise BadRequest(f"{error.message} in {body}") from None
