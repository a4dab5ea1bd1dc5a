"""Plugins that work as long as there is no concurrency, or nobody reads right away."""

import asyncio
import json
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from contract import (
    Memory,
    MemoryWrite,
    NamespacePatch,
    NotFound,
    SearchRequest,
    parse,
)
from harness.example import ExamplePlugin, Row, Store
from harness.example.store import Space
from tests.acceptance.harness.mutants import mutant


@mutant(
    "A read lags the write by 200 ms.",
    "consistency.read-your-writes",
    "consistency.read-your-updates",
    "consistency.in-text-search",
    "consistency.in-embedding-search",
)
class LaggingReads(Store):
    def keep(self, space: Space, row: Row) -> None:
        self.home[row.id] = space.name
        asyncio.get_running_loop().call_later(0.2, super().keep, space, row)


@mutant("The text index lags the write by 100 ms.", "consistency.in-text-search")
class LaggingTextIndex(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        found = super().search(body)
        if not body.query:
            return found
        now = self.now().timestamp()
        return [memory for memory in found if memory.created_at.timestamp() < now - 0.1]


@mutant("The vector index lags the write by 100 ms.", "consistency.in-embedding-search")
class LaggingVectorIndex(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        found = super().search(body)
        if not body.embedding:
            return found
        now = self.now().timestamp()
        return [memory for memory in found if memory.created_at.timestamp() < now - 0.1]


@mutant("A forgotten memory is found for another 100 ms.", "consistency.read-your-forgets")
class LaggingForgets(Store):
    def forget(self, key: UUID, requested_by: str) -> None:
        name = self.home.get(key, "")
        row = self.spaces[name].rows.get(key) if name in self.spaces else None
        super().forget(key, requested_by)
        if row is not None:
            rows = self.spaces[name].rows
            rows[key] = row
            asyncio.get_running_loop().call_later(0.1, rows.pop, key, None)


@mutant("A new namespace is there after 50 ms.", "consistency.write-right-after-put")
class LaggingNamespaces(ExamplePlugin):
    async def put_namespace(self, request: Request) -> Response:
        name = request.path_params["name"]
        young = name not in self.store.spaces
        response = await super().put_namespace(request)
        if young:
            self.young().add(name)
            asyncio.get_running_loop().call_later(0.05, self.young().discard, name)
        return response

    async def write(self, request: Request) -> Response:
        # The harness' own notes and its first check come through.
        if request.path_params["name"] in self.young() and len(self.store.spaces) > 2:
            raise NotFound("no such namespace")
        return await super().write(request)

    def young(self) -> set[str]:
        names: set[str] = self.__dict__.setdefault("_young", set())
        return names


@mutant(
    "One write in 500 is acknowledged and dropped.",
    "concurrency.hundred-writers",
    "batch.a-thousand",
)
class DropsOneIn500(Store):
    written = 0

    def keep(self, space: Space, row: Row) -> None:
        self.written += 1
        if self.written % 500:
            super().keep(space, row)


@mutant("Writers at once lose each other's rows.", "concurrency.hundred-writers")
class LostRows(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        name = request.path_params["name"]
        space = self.store.spaces.get(name)
        before = dict(space.rows) if space else {}
        await asyncio.sleep(0)
        response = await super().write(request)
        if space is not None:
            own = UUID(json.loads(bytes(response.body))["id"])
            after = before | {own: space.rows[own]}
            space.rows.clear()
            space.rows.update(after)
        return response


@mutant("Writers at once get each other's content.", "concurrency.hundred-writers")
class MixedUp(ExamplePlugin):
    last: MemoryWrite | None = None

    async def read(self, model: Any, request: Request) -> Any:
        body = await super().read(model, request)
        if isinstance(body, MemoryWrite):
            self.last = body
            await asyncio.sleep(0)
            return self.last
        return body


@mutant("PUTs at once each make the namespace.", "concurrency.put-at-once")
class RacingPuts(ExamplePlugin):
    async def put_namespace(self, request: Request) -> Response:
        name = request.path_params["name"]
        new = name not in self.store.spaces
        await asyncio.sleep(0)
        if new:
            self.store.drop(name)
        return await super().put_namespace(request)


@mutant("Forgets at once all succeed.", "concurrency.forget-at-once")
class RacingForgets(ExamplePlugin):
    async def forget(self, request: Request) -> Response:
        known = UUID(request.path_params["id"]) in self.store.home
        await asyncio.sleep(0)
        try:
            return await super().forget(request)
        except NotFound:
            if known:
                return Response(status_code=204)
            raise


@mutant(
    "PATCHes at once lose each other's fields.",
    "concurrency.patches-of-different-fields",
)
class LostUpdate(ExamplePlugin):
    async def patch_namespace(self, request: Request) -> Response:
        space = self.store.spaces.get(request.path_params["name"])
        before = space.stored if space else None
        body = parse(NamespacePatch, await request.body())
        if body.metadata is not None and space is not None and before is not None:
            await asyncio.sleep(0.002)
            # What was read before the pause is written back after it.
            space.stored = before
        return await super().patch_namespace(request)


@mutant("A write during a delete survives it.", "concurrency.delete-while-writing")
class SurvivesTheDelete(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        name = request.path_params["name"]
        space = self.store.live_space(name)
        await asyncio.sleep(0.002)
        if space is not None and name not in self.store.spaces:
            self.store.spaces[name] = Space(name, space.stored)
        return await super().write(request)


@mutant("A delete during writes is a 500.", "concurrency.delete-while-writing")
class DeleteBreaks(ExamplePlugin):
    writing = 0

    async def write(self, request: Request) -> Response:
        self.writing += 1
        try:
            await asyncio.sleep(0.002)
            return await super().write(request)
        finally:
            self.writing -= 1

    async def delete_namespace(self, request: Request) -> Response:
        if self.writing:
            raise RuntimeError("deadlock detected")
        return await super().delete_namespace(request)


@mutant("An update is a delete and an insert.", "concurrency.update-and-read")
class NotInPlace(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        body = parse(MemoryWrite, await request.body())
        space = self.store.live_space(request.path_params["name"])
        if space is not None and body.id in space.rows:
            old = space.rows.pop(body.id)
            await asyncio.sleep(0.001)
            space.rows.setdefault(body.id, old)
        return await super().write(request)


@mutant("An update is written in two halves.", "concurrency.update-and-read")
class TornUpdates(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        body = parse(MemoryWrite, await request.body())
        name = request.path_params["name"]
        space = self.store.live_space(name)
        if space is not None and body.id in space.rows:
            old = space.rows[body.id].content
            half = body.content[: len(body.content) // 2] + old[len(old) // 2 :]
            self.store.write(name, body.model_copy(update={"content": half}))
            await asyncio.sleep(0.001)
        return await super().write(request)
