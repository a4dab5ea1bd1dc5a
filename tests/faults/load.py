"""Mixed load: clients that write, update, retry, read, forget and delete, and record everything.

Each client owns one namespace at a time, which only it changes and everybody reads; all share one
namespace with a few memories that everybody rewrites.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import httpx
import orjson

from tests.faults.history import Change, History, Outcome, marks
from tests.faults.plugin import http
from tests.waiting import SECONDS, eventually

SHARED = "team:shared"

# What a client does, by its method, and how often.
MIXED = {
    "write": 20,
    "write_nameless": 20,
    "update": 10,
    "write_shared": 15,
    "write_batch": 5,
    "forget": 5,
    "read_newest": 10,
    "find_word": 10,
    "list_all": 5,
    "read_shared": 3,
    "patch": 4,
    "refresh": 3,
}
# Below the largest limit of a search, so that one answer has a whole namespace.
_LARGEST = 60
_PAUSE = 0.05
_SENT = "http11.send_request_headers.complete"


@dataclass(frozen=True)
class Answer:
    """How a request ended, and the answer."""

    outcome: Outcome
    start: float
    end: float
    body: Any = None


@dataclass
class Load:
    """Clients that work while the context lasts; their shared namespace is created first.

    `timeout` is the longest that a client waits for an answer.
    """

    addresses: Sequence[str]
    clients: int = 32
    timeout: float = SECONDS
    shared_memories: int = 16
    pause: float = 0.0
    mix: Mapping[str, int] = field(default_factory=lambda: MIXED)
    history: History = field(default_factory=History)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _members: list["Client"] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        shared = [str(uuid4()) for _ in range(self.shared_memories)]
        for number in range(self.clients):
            address = self.addresses[number % len(self.addresses)]
            client = Client(number, http(address), self, shared)
            self._members.append(client)
            if number == 0:
                await client.put(SHARED, "team")
        self._tasks = [asyncio.create_task(client.run()) for client in self._members]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for client in self._members:
            client.stopping = True
        # A client that raises has met something that no client should: report it.
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        for client in self._members:
            await client.http.aclose()
        for result in results:
            if isinstance(result, BaseException) and error is None:
                raise result

    async def serves(self, times: int = 5) -> None:
        """Wait until every client has got what it asked for this many times more."""
        enough = {client.number: client.served + times for client in self._members}
        await eventually(
            lambda: all(client.served >= enough[client.number] for client in self._members),
            "some clients are not served",
        )

    @property
    def namespaces(self) -> list[str]:
        """The namespaces that some client owns now."""
        return [client.namespace for client in self._members if client.namespace]


@dataclass
class Client:
    """One client; it does one thing at a time."""

    number: int
    http: httpx.AsyncClient
    load: Load
    shared: Sequence[str]
    stopping: bool = False
    served: int = 0
    namespace: str = ""
    # The ids of memories that may be updated or forgotten: the last write is acknowledged.
    settled: list[str] = field(default_factory=list)
    # Contents of memories written without an id, and the ids that were answered.
    nameless: dict[str, str] = field(default_factory=dict)
    _generation: int = 0
    _values: int = 0

    @property
    def history(self) -> History:
        return self.load.history

    async def run(self) -> None:
        await self.move()
        while not self.stopping:
            [step] = random.choices(list(self.load.mix), list(self.load.mix.values()))
            await getattr(self, step)()
            if len(self.history.keys_of(self.namespace)) >= _LARGEST:
                await self.move()
            if self.load.pause:
                await asyncio.sleep(self.load.pause)

    async def move(self) -> None:
        """Delete the namespace with everything in it, and create another."""
        if self.namespace:
            keys = self.history.keys_of(self.namespace)
            self.history.forget_begins(keys)
            answer = await self.send("DELETE", f"/v1/namespaces/{self.namespace}")
            self.history.forget_ends(keys, answer.outcome)
        self._generation += 1
        self.namespace = f"workspace:{self.number}.{self._generation}"
        self.settled = []
        self.nameless = {}
        await self.put(self.namespace, "workspace")

    async def put(self, namespace: str, kind: str) -> None:
        """Repeat until it is acknowledged: without a namespace there is nothing to do."""
        while True:
            answer = await self.send("PUT", f"/v1/namespaces/{namespace}", {"kind": kind})
            if answer.outcome == "acknowledged" or self.stopping:
                return

    async def write(self) -> None:
        """A new memory with an id; if its outcome is unknown, the same write is repeated."""
        memory_id = str(uuid4())
        value = self.value()
        outcome = await self._write(self.namespace, value, memory_id)
        if outcome == "acknowledged":
            self.settled.append(memory_id)
            return
        while outcome not in ("acknowledged", "refused") and not self.stopping:
            outcome = await self._write(self.namespace, value, memory_id)

    async def write_nameless(self) -> None:
        """A write without an id is never repeated: it is there once or not at all."""
        value = self.value()
        await self._write(self.namespace, value, None)

    async def update(self) -> None:
        """Replace one of our memories; it is not used again if the outcome is unknown."""
        if self.settled:
            memory_id = self.settled.pop(random.randrange(len(self.settled)))
            if await self._write(self.namespace, self.value(), memory_id) == "acknowledged":
                self.settled.append(memory_id)

    async def write_shared(self) -> None:
        await self._write(SHARED, self.value(), random.choice(self.shared))

    async def write_batch(self) -> None:
        """Some of our own and one that everybody writes."""
        own = [(self.namespace, str(uuid4())) for _ in range(2)]
        await self._write_batch([*own, (SHARED, random.choice(self.shared))])

    async def write_shared_batch(self) -> None:
        """Several that everybody writes, in any order, which provokes deadlocks."""
        await self._write_batch([(SHARED, one) for one in random.sample(self.shared, 5)])

    async def _write_batch(self, memories: Sequence[tuple[str, str]]) -> None:
        writes: list[tuple[Change, dict[str, Any]]] = []
        for namespace, memory_id in memories:
            value = self.value()
            change = self.history.write_begins(memory_id, value, namespace, memory_id)
            writes.append((change, {"namespace": namespace, **_memory(value, memory_id)}))
        body = {"writes": [memory for _, memory in writes]}
        answer = await self.send("POST", "/v1/memories/batch", body)
        results = answer.body["results"] if answer.outcome == "acknowledged" else [{}] * len(writes)
        for (change, _), result in zip(writes, results, strict=True):
            outcome: Outcome = answer.outcome
            if "error" in result:
                outcome = "unavailable" if result["error"]["code"] == "unavailable" else "refused"
            self.history.write_ends(change, outcome, result.get("id"))

    async def forget(self) -> None:
        if self.settled:
            memory_id = self.settled.pop(random.randrange(len(self.settled)))
            self.history.forget_begins([memory_id])
            body = {"requested_by_namespace": self.namespace}
            answer = await self.send("DELETE", f"/v1/memories/{memory_id}", body)
            self.history.forget_ends([memory_id], answer.outcome)

    async def read_newest(self) -> None:
        """A whole namespace, ours or another client's, by a search without a query."""
        namespace = random.choice(self.load.namespaces)
        body = {"namespaces": [namespace], "limit": 100}
        answer = await self.send("POST", "/v1/search", body)
        if answer.outcome == "acknowledged":
            rows = answer.body["memories"]
            whole = namespace if len(rows) < 100 else None
            self.history.saw(rows, answer.start, answer.end, whole=whole)

    async def find_word(self) -> None:
        """A memory of ours by the one word that only it has."""
        if self.nameless:
            value = random.choice(list(self.nameless))
            body = {"namespaces": [self.namespace], "query": value, "limit": 10}
            answer = await self.send("POST", "/v1/search", body)
            if answer.outcome == "acknowledged":
                rows = [row for row in answer.body["memories"] if row["content"] == value]
                self.history.saw(rows, answer.start, answer.end)
                if not rows:
                    self.history.saw_value(value, None, answer.start, answer.end)

    async def list_all(self) -> None:
        """A whole namespace, page by page."""
        await self.read_all(random.choice(self.load.namespaces), limit=20)

    async def read_shared(self) -> None:
        await self.read_all(SHARED, limit=1000)

    async def read_all(self, namespace: str, limit: int) -> bool:
        """List a namespace to its end; False if a page was not answered."""
        rows: list[dict[str, Any]] = []
        cursor, start = None, perf_counter()
        while True:
            body = {"namespaces": [namespace], "cursor": cursor, "limit": limit}
            answer = await self.send("POST", "/v1/memories/list", body)
            if answer.outcome != "acknowledged":
                return False
            rows += answer.body["memories"]
            cursor = answer.body["next_cursor"]
            if cursor is None:
                self.history.saw(rows, start, answer.end, whole=namespace)
                return True

    async def patch(self) -> None:
        """The metadata of a namespace is a value too."""
        value = self.value()
        change = self.history.write_begins(_metadata(self.namespace), value, None, None)
        body = {"metadata": {"of": value}}
        answer = await self.send("PATCH", f"/v1/namespaces/{self.namespace}", body)
        self.history.write_ends(change, answer.outcome)

    async def refresh(self) -> None:
        """PUT with only `kind` changes nothing and returns what is there."""
        answer = await self.send("PUT", f"/v1/namespaces/{self.namespace}", {"kind": "workspace"})
        if answer.outcome == "acknowledged":
            metadata = answer.body.get("metadata") or {}
            self.history.saw_value(
                _metadata(self.namespace), metadata.get("of"), answer.start, answer.end
            )

    async def _write(self, namespace: str, value: str, memory_id: str | None) -> Outcome:
        change = self.history.write_begins(memory_id or value, value, namespace, memory_id)
        answer = await self.send(
            "POST", f"/v1/namespaces/{namespace}/memories", _memory(value, memory_id)
        )
        said = answer.body["id"] if answer.outcome == "acknowledged" else None
        self.history.write_ends(change, answer.outcome, said)
        if memory_id is None and said is not None:
            self.nameless[value] = said
        return answer.outcome

    def value(self) -> str:
        """A content that no other write has, with a unique word to search for."""
        self._values += 1
        return f"v{self.number}x{self._values}"

    async def send(self, method: str, path: str, body: Any = None) -> Answer:
        """One request, never retried, recorded; pauses after one that was not served."""
        start = perf_counter()
        action = f"{method} {path.split('/')[2]}"
        content = None if body is None else orjson.dumps(body)
        fault: str | None = None
        said: Any = None
        outcome: Outcome
        steps: set[str] = set()

        async def trace(step: str, _: Mapping[str, Any]) -> None:
            steps.add(step)

        try:
            async with asyncio.timeout(self.load.timeout):
                response = await self.http.request(
                    method, path, content=content, timeout=None, extensions={"trace": trace}
                )
        except TimeoutError:
            outcome = "late"
        except httpx.TransportError:
            # Without a connection, or on one that had been closed before, nothing is sent.
            outcome = "reset" if _SENT in steps else "unreachable"
        else:
            outcome, said, fault = _read(response)
        end = self.history.called(action, start, outcome, fault)
        if outcome == "acknowledged":
            self.served += 1
        else:
            await asyncio.sleep(_PAUSE)
        return Answer(outcome, start, end, said)


def _read(response: httpx.Response) -> tuple[Outcome, Any, str | None]:
    """The outcome, the body, and what is wrong with the answer itself."""
    said: Any = orjson.loads(response.content) if response.content else {}
    if response.is_success:
        return "acknowledged", said, None
    told = f"{response.status_code} {said.get('code')}: {said.get('message')}"
    if response.status_code == 503:
        is_right = said.get("code") == "unavailable" and "retry-after" in response.headers
        return "unavailable", said, None if is_right else f"no Retry-After, or {told}"
    # No request here should be refused.
    return ("refused" if response.status_code < 500 else "unavailable"), said, told


def _memory(value: str, memory_id: str | None) -> dict[str, Any]:
    memory = {"content": value, "source": "agent", **marks(value)}
    return memory if memory_id is None else {**memory, "id": memory_id}


def _metadata(namespace: str) -> str:
    return f"metadata of {namespace}"
