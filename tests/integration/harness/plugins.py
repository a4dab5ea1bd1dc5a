"""Correct plugins that differ where the contract allows it, and one with four defects."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from contract import BadRequest, MemoryWrite, Namespace, NamespaceUpsert, SearchRequest
from harness.example import ExamplePlugin, Store
from harness.example.app import AnyModel
from harness.example.store import Space
from tests.acceptance.harness.mutants import edited


class TypedNumbers(ExamplePlugin):
    """Parses like Go or Rust: no float is an integer, null is absent, floats have 32 bits."""

    async def read(self, model: type[AnyModel], request: Request) -> AnyModel:
        try:
            body = json.loads(await request.body())
        except ValueError:
            return await super().read(model, request)
        if isinstance(body, dict):
            if isinstance(body.get("limit"), float):
                raise BadRequest("limit: must be an integer")
            if model is SearchRequest:
                body = {name: value for name, value in body.items() if value is not None}
            if isinstance(body.get("embedding"), list):
                body["embedding"] = [_as_float32(number) for number in body["embedding"]]
        return await super().read(model, with_body(request, json.dumps(body).encode()))


def _as_float32(number: Any) -> Any:
    """Rounded towards what fits, as a typed parser does at the edge."""
    if isinstance(number, float) and 3.4028234e38 < abs(number) < 3.4028236e38:
        return 3.4028234e38 if number > 0 else -3.4028234e38
    return number


def with_body(request: Request, body: bytes) -> Request:
    """The same request with another body."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)


class OneDimension(ExamplePlugin):
    """Accepts only embeddings of eight numbers, and reports that as the contract requires."""

    async def read(self, model: type[AnyModel], request: Request) -> AnyModel:
        body = await super().read(model, request)
        vector = getattr(body, "embedding", None)
        if isinstance(body, MemoryWrite) and vector is not None and len(vector) != 8:
            raise BadRequest("embedding: must have 8 numbers")
        return body


class FourFaults(OneDimension):
    """Faults of an existing plugin: null for an empty list, 500 for an unknown namespace."""

    async def search(self, request: Request) -> Response:
        response = await super().search(request)
        return edited(response, lambda body: {"memories": body["memories"] or None})

    async def write(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self.store.spaces:
            raise RuntimeError("foreign key violation")
        return await super().write(request)


class WipingStore(Store):
    """PUT replaces what it does not name."""

    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        stored = super().put_namespace(name, body)
        space: Space = self.spaces[name]
        space.stored = Namespace(name=stored.name, kind=stored.kind, created_at=stored.created_at)
        return self.change(space, body)
