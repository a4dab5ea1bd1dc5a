"""The client: the seven endpoints and the extensions as typed methods.

    async with MemoryClient("http://localhost:9100") as client:
        await client.put_namespace("workspace:42", NamespaceUpsert(kind="workspace"))
        await client.write("workspace:42", MemoryWrite(content="…", kind="fact", source="agent"))
        found = await client.search(SearchRequest(namespaces=["workspace:42"], query="…"))

Every method raises the exceptions of `contract.errors` and nothing else.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload
from uuid import UUID, uuid4

from contract.address import Address
from contract.batch import BatchFailure, BatchRequest, BatchResponse, BatchWrite
from contract.breaker import Breaker
from contract.counting import CountRequest, CountResponse
from contract.duration import parse_duration
from contract.errors import BadRequest, ContractViolation, MemoryPluginError, NotFound, Timeout
from contract.filter import FilterValue
from contract.health import CAPABILITIES, EXTENSIONS, HealthResponse
from contract.listing import MAX_PAGE, ListRequest, ListResponse, MemoryDigest
from contract.memory import ForgetRequest, Memory, MemoryWrite, MemoryWriteResponse
from contract.model import AnyModel, WireModel, parse_value
from contract.namespace import Namespace, NamespacePatch, NamespaceUpsert
from contract.negotiation import (
    LeftOut,
    Negotiation,
    check_extensions,
    extension_fields,
    fit,
    is_gated,
)
from contract.retry import repeat
from contract.scalars import Capability, Extension, MemoryId, MemoryKind, NamespaceName
from contract.search import SearchRequest, SearchResponse
from contract.transport import MAX_ANSWER
from contract.wire import Wire, read_answer

if TYPE_CHECKING:
    import httpx

DEFAULT_TIMEOUT = 2.0

Write = TypeVar("Write", bound=MemoryWrite)


class MemoryClient:
    """An async client of one plugin, safe for concurrent use within an event loop.

    Arguments that are left out are read from `MEMORY_PLUGIN_URL`, `MEMORY_PLUGIN_TIMEOUT` and
    `MEMORY_PLUGIN_TOKEN`; an invalid value raises ValueError.

    `timeout` (2 s, "500ms") is the time that a whole call may take, retries included; each call can
    override it. A request is retried, up to `attempts` attempts in all, only where a retry cannot
    duplicate anything: reads, PUT, DELETE of a namespace, writes that carry an id. `breaker` may be
    shared by several clients of one plugin.

    A field of a capability that the plugin does not list is left out of the request, and
    `on_left_out` is called. A field or a call of an extension that the plugin does not list raises
    `NotSupported` before anything is sent: without a filter the answer would be wrong. The plugin
    is asked what it lists on the first call, and again in the background when that is more than
    `refresh` seconds old.

    `transport` is for tests: `httpx.ASGITransport(app)` runs a plugin in the same process. An
    answer of more than `max_answer` bytes is not read. Lists that a plugin sends as null
    are read as empty.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        timeout: float | str | None = None,
        token: str | None = None,
        attempts: int = 3,
        refresh: float = 30.0,
        max_answer: int = MAX_ANSWER,
        breaker: Breaker | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
        on_left_out: Callable[[LeftOut], None] | None = None,
    ) -> None:
        if attempts < 1:
            raise ValueError("attempts must be at least 1")
        self._address = Address.find(url)
        self._timeout = _find_timeout(timeout)
        self._attempts = attempts
        self._breaker = breaker or Breaker()
        self._on_left_out = on_left_out
        self._wire = Wire(
            self._address,
            token or os.environ.get("MEMORY_PLUGIN_TOKEN") or None,
            transport,
            max_answer,
        )
        self._negotiation = Negotiation(self._ask_health, refresh)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._address)!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        await self._negotiation.aclose()
        await self._wire.aclose()

    async def health(self, *, timeout: float | None = None) -> HealthResponse:
        """The plugin's current health; raises `Unavailable` when its store is down."""
        deadline = self._deadline(timeout)
        answer = await self._call("GET", "/v1/health", deadline=deadline, repeatable=True)
        health = read_answer(HealthResponse, answer)
        self._negotiation.learn(health)
        return health

    async def supports(self, name: Capability | Extension, *, timeout: float | None = None) -> bool:
        """Whether the plugin lists a capability or an extension."""
        if name not in CAPABILITIES and name not in EXTENSIONS:
            raise ValueError(f"{name!r} is neither a capability nor an extension")
        health = await self._known_health(self._deadline(timeout))
        return name in health.capabilities or name in (health.extensions or ())

    async def put_namespace(
        self, name: str, namespace: NamespaceUpsert, *, timeout: float | None = None
    ) -> Namespace:
        """Create or refresh a namespace: an absent field is kept, an explicit None clears it."""
        deadline = self._deadline(timeout)
        path = _namespace_path(name)
        body = await self._fit("put_namespace", namespace, deadline)
        answer = await self._call("PUT", path, body, deadline=deadline, repeatable=True)
        return read_answer(Namespace, answer)

    async def patch_namespace(
        self, name: str, patch: NamespacePatch, *, timeout: float | None = None
    ) -> Namespace:
        """Change `expires_at`, `metadata` or both; `NotFound` when there is no such namespace."""
        deadline = self._deadline(timeout)
        path = _namespace_path(name)
        body = await self._fit("patch_namespace", patch, deadline)
        if not body.model_fields_set:
            raise BadRequest("expires_at: the plugin does not list ttl, so nothing can be changed")
        return read_answer(Namespace, await self._call("PATCH", path, body, deadline=deadline))

    async def delete_namespace(self, name: str, *, timeout: float | None = None) -> None:
        """Delete a namespace and its memories; `NotFound` if it does not exist."""
        await self._call(
            "DELETE",
            _namespace_path(name),
            deadline=self._deadline(timeout),
            repeatable=True,
            gone_is_done=True,
        )

    async def write(
        self,
        namespace: str,
        memory: MemoryWrite,
        *,
        supply_id: bool = False,
        timeout: float | None = None,
    ) -> MemoryWriteResponse:
        """Write a memory; when this returns, it is durable.

        Without an id the write is never retried, because a retry could duplicate it. With
        `supply_id` the client generates the id, so that a retry replaces the memory.
        """
        deadline = self._deadline(timeout)
        path = f"{_namespace_path(namespace)}/memories"
        if supply_id and memory.id is None:
            memory = memory.model_copy(update={"id": uuid4()})
        body = await self._fit("write", memory, deadline)
        answer = await self._call(
            "POST",
            path,
            body,
            deadline=deadline,
            repeatable=memory.id is not None,
            secrets=[memory.content],
        )
        return read_answer(MemoryWriteResponse, answer)

    async def search(
        self, request: SearchRequest, *, timeout: float | None = None
    ) -> SearchResponse:
        """Find memories; with neither `query` nor `embedding`, the newest.

        `where` and the times need the extension `filter`.
        """
        return read_answer(SearchResponse, await self.search_bytes(request, timeout=timeout))

    async def search_bytes(
        self,
        request: SearchRequest | bytes,
        *,
        secrets: Collection[str] = (),
        timeout: float | None = None,
    ) -> bytes:
        """The unparsed response to the same search, for a caller that validates it itself.

        Use `read_answer` to validate it. A request as bytes is sent as it is: for a caller that is
        sure of it, and for whom checking a thousand names would take longer than the search;
        `secrets` are the texts in it, which no error repeats.
        """
        deadline = self._deadline(timeout)
        if not isinstance(request, bytes):
            await self._require(extension_fields(request), deadline)
            request = await self._fit("search", request, deadline)
            secrets = [request.query or ""]
        return await self._call(
            "POST", "/v1/search", request, deadline=deadline, repeatable=True, secrets=secrets
        )

    async def get(self, id: UUID | str, *, namespace: str, timeout: float | None = None) -> Memory:
        """One memory; needs the extension `get`.

        `Forbidden` if it is in another namespace, `NotFound` if it does not exist or has expired.
        """
        deadline = self._deadline(timeout)
        wanted: UUID = parse_value(MemoryId, id, "id")
        owner: str = parse_value(NamespaceName, namespace, "namespace")
        await self._require({"get": "get"}, deadline)
        path = f"/v1/memories/{wanted}?namespace={owner}"
        answer = await self._call("GET", path, deadline=deadline, repeatable=True)
        memory = read_answer(Memory, answer)
        if (memory.id, memory.namespace) != (wanted, owner):
            raise ContractViolation("id: the plugin returned a different memory")
        return memory

    async def forget(
        self, id: UUID | str, *, requested_by_namespace: str, timeout: float | None = None
    ) -> None:
        """Delete one memory: `Forbidden` if another namespace has it, `NotFound` if none does."""
        owner = parse_value(NamespaceName, requested_by_namespace, "requested_by_namespace")
        await self._call(
            "DELETE",
            f"/v1/memories/{parse_value(MemoryId, id, 'id')}",
            ForgetRequest(requested_by_namespace=owner),
            deadline=self._deadline(timeout),
        )

    async def batch(
        self, writes: Sequence[BatchWrite], *, timeout: float | None = None
    ) -> list[MemoryWriteResponse | BatchFailure]:
        """Up to 1,000 writes in one request, with one result each, in order.

        It is retried only if every write has an id. A plugin that does not list the extension
        `batch` answers `NotFound`: ask `supports("batch")` first.
        """
        deadline = self._deadline(timeout)
        fitted = await self._fit_all("batch", writes, deadline)
        body = parse_value(BatchRequest, {"writes": fitted})
        answer = await self._call(
            "POST",
            "/v1/memories/batch",
            body,
            deadline=deadline,
            repeatable=all(write.id is not None for write in writes),
            secrets=[write.content for write in writes],
        )
        results = read_answer(BatchResponse, answer).results
        if len(results) != len(writes):
            raise ContractViolation(f"results: {len(results)} answers to {len(writes)} writes")
        return results

    async def batch_bytes(
        self, body: bytes, *, secrets: Collection[str], timeout: float | None = None
    ) -> bytes:
        """The unparsed response to a batch that is sent as it is, for a caller that is sure of it.

        Every write must have an id, because it may be retried; `secrets` are their contents, which
        no error repeats. Use `read_answer` to validate the response, a `BatchResponse`.
        """
        return await self._call(
            "POST",
            "/v1/memories/batch",
            body,
            deadline=self._deadline(timeout),
            repeatable=True,
            secrets=secrets,
        )

    async def list_page(
        self, request: ListRequest, *, timeout: float | None = None
    ) -> ListResponse:
        """One page of the extension `list`; `NotFound` on a plugin that does not list it.

        `order` and `kinds` need the extension `browse`, `where` and the times `filter`.
        """
        deadline = self._deadline(timeout)
        await self._require(extension_fields(request), deadline)
        answer = await self._call(
            "POST", "/v1/memories/list", request, deadline=deadline, repeatable=True
        )
        page = read_answer(ListResponse, answer)
        wanted = Memory if request.fields == "full" else MemoryDigest
        if not all(isinstance(memory, wanted) for memory in page.memories):
            raise ContractViolation(f"memories: not what fields: {request.fields} asks for")
        if page.next_cursor is not None and page.next_cursor == request.cursor:
            raise ContractViolation("next_cursor: is the cursor of this page, not of the next one")
        return page

    @overload
    def list_memories(
        self,
        namespaces: Sequence[str],
        *,
        fields: Literal["full"] = "full",
        order: Literal["id", "newest"] = "id",
        kinds: Sequence[MemoryKind] | None = None,
        where: Mapping[str, FilterValue] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        page_size: int = MAX_PAGE,
        timeout: float | None = None,
    ) -> AsyncIterator[Memory]: ...

    @overload
    def list_memories(
        self,
        namespaces: Sequence[str],
        *,
        fields: Literal["digest"],
        order: Literal["id", "newest"] = "id",
        kinds: Sequence[MemoryKind] | None = None,
        where: Mapping[str, FilterValue] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        page_size: int = MAX_PAGE,
        timeout: float | None = None,
    ) -> AsyncIterator[MemoryDigest]: ...

    async def list_memories(
        self,
        namespaces: Sequence[str],
        *,
        fields: Literal["full", "digest"] = "full",
        order: Literal["id", "newest"] = "id",
        kinds: Sequence[MemoryKind] | None = None,
        where: Mapping[str, FilterValue] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        page_size: int = MAX_PAGE,
        timeout: float | None = None,
    ) -> AsyncIterator[Any]:
        """All live memories of the namespaces, page by page; `timeout` is for each page.

        `order` and `kinds` need the extension `browse`, `where` and the times `filter`.
        """
        asked = {
            "namespaces": list(namespaces),
            "limit": page_size,
            "fields": fields,
            "kinds": list(kinds) if kinds else None,
            "where": dict(where) if where is not None else None,
            "created_after": created_after,
            "created_before": created_before,
        }
        if order != "id":
            asked["order"] = order
        cursor: str | None = None
        while True:
            request = parse_value(ListRequest, asked | {"cursor": cursor})
            page = await self.list_page(request, timeout=timeout)
            for memory in page.memories:
                yield memory
            cursor = page.next_cursor
            if cursor is None:
                return

    async def count(self, request: CountRequest, *, timeout: float | None = None) -> CountResponse:
        """How many live memories there are, and with `group_by` how many per value.

        It needs the extension `browse`; `where` and the times also need `filter`.
        """
        deadline = self._deadline(timeout)
        await self._require({"count": "browse", **extension_fields(request)}, deadline)
        answer = await self._call(
            "POST", "/v1/memories/count", request, deadline=deadline, repeatable=True
        )
        counted = read_answer(CountResponse, answer)
        if request.group_by is not None and counted.groups is None:
            # A null list is an empty one.
            counted = counted.model_copy(update={"groups": []})
        return counted

    def _deadline(self, timeout: float | None) -> float:
        """The deadline of a call that starts now, in the event loop's time."""
        return asyncio.get_running_loop().time() + (self._timeout if timeout is None else timeout)

    async def _ask_health(self) -> HealthResponse:
        """For the negotiation: one request that bypasses the breaker."""
        deadline = self._deadline(None)
        return read_answer(
            HealthResponse,
            await self._wire.send("GET", "/v1/health", deadline=deadline, repeatable=True),
        )

    async def _learn(self, deadline: float) -> HealthResponse:
        try:
            async with asyncio.timeout_at(deadline):
                return await self._negotiation.health()
        except TimeoutError:
            raise Timeout("the plugin did not report its capabilities in time") from None

    async def _known_health(self, deadline: float) -> HealthResponse:
        """The last known health of the plugin; raises if it has never answered."""
        if self._negotiation.is_known:
            return await self._negotiation.health()
        with self._breaker.call():
            return await self._learn(deadline)

    async def _require(self, needs: dict[str, Extension], deadline: float) -> None:
        """Raise `NotSupported` if the plugin does not list a required extension."""
        if needs:
            check_extensions(needs, await self._known_health(deadline))

    async def _capabilities(self, deadline: float) -> Collection[Capability]:
        """What the plugin lists, or everything while that is unknown.

        Sending too much is harmless: a plugin ignores the fields of what it does not list. So
        asking may take half of a call's time, and never makes it fail.
        """
        if self._breaker.state != "closed":
            return CAPABILITIES
        if self._negotiation.is_known:
            return (await self._negotiation.health()).capabilities
        now = asyncio.get_running_loop().time()
        try:
            return (await self._learn(now + (deadline - now) / 2)).capabilities
        except MemoryPluginError:
            return CAPABILITIES

    async def _fit(self, operation: str, body: AnyModel, deadline: float) -> AnyModel:
        return (await self._fit_all(operation, [body], deadline))[0]

    async def _fit_all(
        self, operation: str, bodies: Sequence[AnyModel], deadline: float
    ) -> list[AnyModel]:
        """The bodies without fields that the plugin would ignore; `on_left_out` is called once."""
        if not any(is_gated(body) for body in bodies):
            return list(bodies)
        capabilities = await self._capabilities(deadline)
        fitted = [fit(body, capabilities) for body in bodies]
        lost = {name for _, names in fitted for name in names}
        if lost and self._on_left_out is not None:
            self._on_left_out(LeftOut(operation, tuple(sorted(lost))))
        return [body for body, _ in fitted]

    async def _call(
        self,
        method: str,
        path: str,
        body: WireModel | bytes | None = None,
        *,
        deadline: float,
        repeatable: bool = False,
        gone_is_done: bool = False,
        secrets: Collection[str] = (),
    ) -> bytes:
        if asyncio.get_running_loop().time() >= deadline:
            # The caller's time ran out before the request was sent: not a failure of the plugin.
            raise Timeout("no time was left for the call")
        content = _body(body) if isinstance(body, WireModel) else body

        async def request(number: int) -> bytes:
            try:
                return await self._wire.send(
                    method,
                    path,
                    content,
                    deadline=deadline,
                    repeatable=repeatable and not gone_is_done,
                    secrets=secrets,
                )
            except NotFound:
                if number > 0 and gone_is_done:
                    return b""
                raise

        with self._breaker.call() as is_probe:
            attempts = self._attempts if repeatable and not is_probe else 1
            return await repeat(request, attempts=attempts, deadline=deadline)


def _find_timeout(given: float | str | None) -> float:
    if given is not None:
        source, value = "timeout", given
    else:
        source, value = "MEMORY_PLUGIN_TIMEOUT", os.environ.get("MEMORY_PLUGIN_TIMEOUT", "")
    if value == "":
        return DEFAULT_TIMEOUT
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def _namespace_path(name: str) -> str:
    return f"/v1/namespaces/{parse_value(NamespaceName, name, 'name')}"


def _body(body: WireModel) -> bytes:
    """The request body as it is sent.

    Null clears a field of a namespace. Elsewhere it means the same as leaving the field out, and
    some plugins reject it.
    """
    clears = isinstance(body, NamespaceUpsert | NamespacePatch)
    return body.model_dump_json(exclude_unset=True, exclude_none=not clears).encode()
