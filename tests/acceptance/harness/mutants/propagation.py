"""Plugins that do not treat `propagation` as opaque."""

import unicodedata
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from contract import (
    BadRequest,
    Memory,
    MemoryWrite,
    MemoryWriteResponse,
    SearchRequest,
)
from harness.example import ExamplePlugin, Store
from tests.acceptance.harness.mutants import mutant


class _Changes(Store):
    """Keeps another object than was sent."""

    def alter(self, value: Any) -> Any:
        """The replacement for a value; applied to lists and objects recursively."""
        if isinstance(value, dict):
            return {key: self.alter(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.alter(item) for item in value]
        return value

    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        if body.propagation is not None:
            body = body.model_copy(update={"propagation": self.alter(body.propagation)})
        return super().write(name, body)


@mutant("propagation loses its nulls.", "propagation.nulls", "propagation.in-every-search")
class DropsNulls(_Changes):
    def alter(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.alter(item) for key, item in value.items() if item is not None}
        return super().alter(value)


@mutant(
    "propagation rounds large integers, as a double does.",
    "propagation.large-numbers",
    "batch.carries-every-field",
)
class RoundsIntegers(_Changes):
    def alter(self, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return int(float(value))
        return super().alter(value)


@mutant("propagation keeps floats with single precision.", "propagation.large-numbers")
class RoundsFractions(_Changes):
    def alter(self, value: Any) -> Any:
        if isinstance(value, float) and abs(value) < 1e300:
            return float(f"{value:.7g}") if value != 2.2250738585072014e-308 else 0.0
        return super().alter(value)


@mutant("propagation is cut below ten levels.", "propagation.deep")
class CutsDepth(_Changes):
    def alter(self, value: Any, level: int = 0) -> Any:
        if level > 10:
            return None
        if isinstance(value, dict):
            return {key: self.alter(item, level + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self.alter(item, level + 1) for item in value]
        return value


@mutant("propagation turns booleans into numbers.", "propagation.deep")
class BooleansAreNumbers(_Changes):
    def alter(self, value: Any) -> Any:
        return int(value) if isinstance(value, bool) else super().alter(value)


@mutant("The keys of propagation are normalised.", "propagation.unicode")
class NormalisesKeys(_Changes):
    def alter(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {unicodedata.normalize("NFC", key): item for key, item in value.items()}
        return value


@mutant("An empty propagation is none.", "propagation.empty")
class EmptyIsNone(_Changes):
    def alter(self, value: Any) -> Any:
        return value or None


@mutant("propagation keeps 100 keys.", "propagation.large")
class HundredKeys(_Changes):
    def alter(self, value: Any) -> Any:
        return dict(list(value.items())[:100])


@mutant("propagation of a repeated id is merged.", "propagation.is-replaced")
class MergesPropagation(Store):
    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        space = self.live_space(name)
        old = space.rows.get(body.id) if space and body.id else None
        if old is not None and old.propagation and body.propagation:
            merged = old.propagation | body.propagation
            body = body.model_copy(update={"propagation": merged})
        return super().write(name, body)


@mutant("A text search leaves out propagation.", "propagation.in-every-search")
class NotInTextSearch(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        found = super().search(body)
        if not body.query:
            return found
        return [memory.model_copy(update={"propagation": None}) for memory in found]


@mutant("propagation may be a list.", "propagation.must-be-an-object")
class TakesLists(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        try:
            return await super().write(request)
        except BadRequest as error:
            if not error.message.startswith("propagation"):
                raise
            name = request.path_params["name"]
            bare = MemoryWrite(content="x", kind="fact", source="agent")
            return Response(self.store.write(name, bare).to_json(), 201)
