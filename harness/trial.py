"""What a check works with: its own namespaces, the endpoints, and ways to report failures."""

import asyncio
import json
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from contract import Memory, MemoryPluginError, SearchResponse, parse
from harness import roots
from harness.clock import PluginClock
from harness.command import run_in_shell
from harness.curl import body_of
from harness.errors import Failure
from harness.exchange import Exchange, Recorder, Request
from harness.ledger import Ledger, backfilled_by
from harness.settings import Settings

JSON_HEADERS = {"Content-Type": "application/json"}
_WRITERS = 10


class Exact(list[float]):
    """An embedding that is sent unchanged, even to a plugin with a fixed dimension."""


class Trial:
    """One attempt of one check.

    Requests go through the methods below, which record them for the report and judge nothing:
    `write` returns the Exchange, whatever the plugin answered. Methods that end in `ed` or say so
    in their docstring raise `Failure` unless the plugin succeeded.
    """

    def __init__(
        self,
        wire: Recorder,
        ledger: Ledger,
        claims: Iterable[str],
        settings: Settings,
        rng: random.Random,
        slots: asyncio.Semaphore,
        url: str,
        dimension: int | None = None,
    ) -> None:
        self.wire = wire
        self.dimension = dimension
        """The one dimension that the plugin supports; None if it supports any."""
        self.url = url
        self.settings = settings
        self.random = rng
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.names: set[str] = set()
        self._ledger = ledger
        self._claims = frozenset(claims)
        self._slots = slots

    def claims(self, name: str) -> bool:
        """True when the plugin says that it has the capability or the extension."""
        return name in self._claims

    def warn(self, message: str) -> None:
        """Report something that does not break the contract but that the author should know."""
        self.warnings.append(message)

    def note(self, message: str) -> None:
        """Tell the author something that is not wrong at all."""
        self.notes.append(message)

    def uuid(self) -> str:
        """A random UUID; the same for the same seed."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    async def sleep(self, seconds: float) -> None:
        """Wait, while other checks run."""
        self.wire.waits.append(time.monotonic())
        self._slots.release()
        try:
            await asyncio.sleep(seconds)
        finally:
            await self._slots.acquire()

    async def run_command(self, command: str) -> None:
        """Run a command of the user in a shell, and record it for the report."""
        self.wire.commands.append((time.monotonic(), command))
        await run_in_shell(command)

    # Requests

    async def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        headers: Mapping[str, str] = JSON_HEADERS,
    ) -> Exchange:
        """Any request that stays in this run's namespaces: `body` is sent as JSON, `raw` as it is.

        Every request of every check comes through here, and is checked before it is sent.
        """
        content = raw if raw is not None or body is None else body_of(body)
        request = Request(method, path, content, dict(headers) if content is not None else {})
        self._ledger.guard(request)
        return await self.wire.send(request)

    def name(self) -> str:
        """The name of a namespace of this check's own, which does not exist yet."""
        name = self._ledger.name()
        self.names.add(name)
        return name

    async def special_name(self, suffix: str, *, longest: int = 256) -> str:
        """A name of this check with a suffix, cut to a length, for checks of names."""
        name = await self._ledger.special_name(suffix, longest)
        self.names.add(name)
        return name

    async def workspaces(self) -> list[UUID]:
        """Ids for workspaces of this run; a backfill's namespaces for them are deleted too."""
        self.names |= backfilled_by(self._ledger.run)
        return await self._ledger.workspaces()

    def own(self, name: str) -> None:
        """Delete this name at the end; it must start with one of this check's names."""
        self._ledger.open.add(name)
        self.names.add(name)

    def write_no_memories(self, refused: Exchange) -> None:
        """From now on no check of the run writes a memory: the plugin refused the first one."""
        self._ledger.no_memories = refused

    async def put(self, name: str, **fields: Any) -> Exchange:
        """PUT a namespace, of kind custom unless the fields say otherwise."""
        return await self.send("PUT", f"/v1/namespaces/{name}", {"kind": "custom"} | fields)

    async def patch(self, name: str, **fields: Any) -> Exchange:
        """PATCH a namespace."""
        return await self.send("PATCH", f"/v1/namespaces/{name}", fields)

    async def delete(self, name: str) -> Exchange:
        """DELETE a namespace of this check."""
        return await self.send("DELETE", f"/v1/namespaces/{name}")

    async def write(self, name: str, content: str, **fields: Any) -> Exchange:
        """POST a memory: a fact from an agent unless the fields say otherwise."""
        return await self.send(
            "POST", f"/v1/namespaces/{name}/memories", memory(content, self._fitted(fields))
        )

    async def search(self, *namespaces: str, **fields: Any) -> Exchange:
        """POST a search."""
        return await self.send(
            "POST", "/v1/search", {"namespaces": list(namespaces)} | self._fitted(fields)
        )

    async def forget(self, memory_id: str, name: str) -> Exchange:
        """DELETE a memory on behalf of a namespace."""
        body = {"requested_by_namespace": name}
        return await self.send("DELETE", f"/v1/memories/{memory_id}", body)

    async def batch(self, writes: Sequence[Mapping[str, Any]]) -> Exchange:
        """POST a batch of writes."""
        return await self.send(
            "POST", "/v1/memories/batch", {"writes": [self._fitted(write) for write in writes]}
        )

    async def list_page(self, *namespaces: str, **fields: Any) -> Exchange:
        """POST a listing; one page."""
        body = {"namespaces": list(namespaces)} | fields
        return await self.send("POST", "/v1/memories/list", body)

    async def count(self, *namespaces: str, **fields: Any) -> Exchange:
        """POST a count."""
        body = {"namespaces": list(namespaces)} | fields
        return await self.send("POST", "/v1/memories/count", body)

    async def get(self, memory_id: str, name: str) -> Exchange:
        """GET a memory on behalf of a namespace."""
        return await self.send("GET", f"/v1/memories/{memory_id}?namespace={name}")

    def _fitted(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields with the embedding padded to the plugin's dimension: zeros change no angle."""
        vector = fields.get("embedding")
        if self.dimension is None or not isinstance(vector, list) or isinstance(vector, Exact):
            return dict(fields)
        return {**fields, "embedding": vector + [0.0] * (self.dimension - len(vector))}

    # Requests that must succeed

    async def namespace(self, **fields: Any) -> str:
        """A new namespace of this check; Failure unless it can be created."""
        name = self.name()
        (await self.put(name, **fields)).expect(200, rests_on=roots.PUT)
        return name

    async def written(self, name: str, content: str, **fields: Any) -> str:
        """The id of a new memory; Failure unless it can be written."""
        answer = (await self.write(name, content, **fields)).expect(201, rests_on=roots.WRITE)
        found = answer.object.get("id")
        if not isinstance(found, str):
            raise Failure("201 with the memory's id", answer.shown, roots.WRITE)
        return found

    async def fill(self, name: str, contents: Iterable[str], **fields: Any) -> list[str]:
        """The ids of new memories, written a few at a time, in the order of the contents."""
        slots = asyncio.Semaphore(_WRITERS)

        async def one(content: str) -> str:
            async with slots:
                return await self.written(name, content, **fields)

        return list(await asyncio.gather(*(one(content) for content in contents)))

    async def found(self, *namespaces: str, **fields: Any) -> list[Memory]:
        """The memories that a search returns; Failure unless it returns a list of memories."""
        return memories_of(await self.search(*namespaces, **fields))

    async def one(self, name: str, **fields: Any) -> Memory:
        """The memory that a search returns; Failure unless it is exactly one."""
        rows = await self.found(name, **fields)
        expect_equal("memories found", len(rows), 1)
        return rows[0]

    async def one_as_sent(self, name: str) -> dict[str, Any]:
        """The one memory of a namespace as it was sent."""
        answer = await self.search(name)
        expect_equal("memories found", len(memories_of(answer)), 1)
        row: dict[str, Any] = answer.object["memories"][0]
        return row

    async def contents(self, *namespaces: str, **fields: Any) -> list[str]:
        """The contents that a search returns, in its order."""
        return [memory.content for memory in await self.found(*namespaces, **fields)]

    async def clock(self) -> PluginClock:
        """The plugin's clock, read by writing a memory."""
        name = await self.namespace()
        answer = (await self.write(name, "what time is it")).expect(201)
        return PluginClock(answer, (await self.one(name)).created_at)


def memory(content: str, fields: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The body of a write."""
    return {"content": content, "kind": "fact", "source": "agent", **(fields or {})}


def memories_of(answer: Exchange) -> list[Memory]:
    """The memories in the answer to a search; Failure unless it has the shape of the contract."""
    answer.expect(200, rests_on=roots.SEARCH)
    if answer.json == {"memories": None}:
        return []  # one check tests this; the others test what was found
    try:
        return parse(SearchResponse, answer.body).memories
    except MemoryPluginError as error:
        raise Failure(f"a SearchResponse ({error})", answer.shown, roots.SEARCH) from None


def expect(condition: object, expected: str, got: object) -> None:
    """Fail with a description of both sides, unless the condition holds."""
    if not condition:
        raise Failure(expected, shown(got))


def expect_equal(what: str, got: object, expected: object) -> None:
    """Fail unless the two are equal, numbers by their value, and show both."""
    if _by_value(got) != _by_value(expected):
        raise Failure(f"{what}: {shown(expected)}", shown(got))


def _by_value(value: object) -> object:
    """The same with numbers as decimals: 1e3 is 1000, and true is not 1."""
    match value:
        case bool():
            return "true" if value else "false", bool
        case int() | float():
            return Decimal(repr(value))
        case list() | tuple():
            return [_by_value(item) for item in value]
        case dict():
            return {key: _by_value(item) for key, item in value.items()}
    return value


def shown(value: object) -> str:
    """A value in readable form, cut if it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 300 else f"{text[:300]}… ({len(text)} characters)"
