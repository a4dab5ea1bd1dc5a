"""The seven endpoints of the contract, its extensions, and the metrics."""

import re
from urllib.parse import parse_qsl

from contract import (
    CAPABILITIES,
    CONTRACT_VERSION,
    NAMESPACE_PATTERN,
    BadRequest,
    CountRequest,
    Extension,
    ForgetRequest,
    ListRequest,
    MemoryId,
    MemoryWrite,
    NamespaceName,
    NamespacePatch,
    NamespaceUpsert,
    SearchRequest,
    Unavailable,
    parse,
    parse_value,
    parse_writes,
)
from plugin_postgres import namespaces
from plugin_postgres.database import Database
from plugin_postgres.listing import Listing
from plugin_postgres.memories import Memories
from plugin_postgres.metrics import Metrics
from plugin_postgres.pending import PendingList
from plugin_postgres.route import NOTHING, Answer, json_answer
from plugin_postgres.search import Search
from plugin_postgres.settings import Settings
from serving.metrics import CONTENT_TYPE

SERVED_EXTENSIONS: tuple[Extension, ...] = ("batch", "list", "filter", "browse", "get")
_NAME = re.compile(NAMESPACE_PATTERN)


class Endpoints:
    """Each method takes the variable segment of the path and the body, and returns the answer."""

    def __init__(
        self,
        database: Database,
        memories: Memories,
        listing: Listing,
        search: Search,
        pending: PendingList,
        metrics: Metrics,
        settings: Settings,
    ) -> None:
        self._database = database
        self._memories = memories
        self._listing = listing
        self._search = search
        self._pending = pending
        self._metrics = metrics
        self._max_namespaces = settings.max_namespaces

    async def health(self, _segment: str, _body: bytes) -> Answer:
        """Queries the store each time; 503 if it is down."""
        up = await self._database.is_up()
        self._metrics.store_up.set(up)
        offers = {
            "version": CONTRACT_VERSION,
            "capabilities": [
                name
                for name in CAPABILITIES
                if name != "embedding" or self._database.serves_vectors
            ],
            "extensions": SERVED_EXTENSIONS,
        }
        if up:
            return json_answer(200, {"status": "ok", **offers})
        error = Unavailable("the store is down", retry_after=1)
        down = json_answer(error.status, {**error.envelope(), "status": "degraded", **offers})
        return Answer(down.status, down.body, [*down.headers, (b"retry-after", b"1")])

    async def put_namespace(self, name: str, body: bytes) -> Answer:
        upsert = parse(NamespaceUpsert, body)
        return json_answer(200, await namespaces.put(self._database, _checked(name), upsert))

    async def patch_namespace(self, name: str, body: bytes) -> Answer:
        patch = parse(NamespacePatch, body)
        return json_answer(200, await namespaces.patch(self._database, _checked(name), patch))

    async def delete_namespace(self, name: str, _body: bytes) -> Answer:
        await namespaces.delete(self._database, _checked(name))
        self._search.forget_samples()
        return NOTHING

    async def write(self, name: str, body: bytes) -> Answer:
        write = parse(MemoryWrite, body)
        return json_answer(201, await self._memories.write(_checked(name), write))

    async def search(self, _segment: str, body: bytes) -> Answer:
        request = parse(SearchRequest, body)
        self._check_count(request.namespaces)
        if request.query or request.where:
            self._pending.searched()
        return json_answer(200, {"memories": await self._search.find(request)})

    async def forget(self, key: str, body: bytes) -> Answer:
        await self._memories.forget(parse_value(MemoryId, key, "id"), parse(ForgetRequest, body))
        return NOTHING

    async def batch(self, _segment: str, body: bytes) -> Answer:
        return json_answer(200, {"results": await self._memories.write_all(parse_writes(body))})

    async def list_page(self, _segment: str, body: bytes) -> Answer:
        request = parse(ListRequest, body)
        self._check_count(request.namespaces)
        return json_answer(200, await self._listing.page(request))

    async def count(self, _segment: str, body: bytes) -> Answer:
        request = parse(CountRequest, body)
        self._check_count(request.namespaces)
        return json_answer(200, await self._listing.count(request))

    async def get(self, key: str, query: bytes) -> Answer:
        """Takes the query string, because there is no body."""
        memory_id = parse_value(MemoryId, key, "id")
        return json_answer(200, await self._memories.get(memory_id, _namespace_in(query)))

    async def metrics(self, _segment: str, _body: bytes) -> Answer:
        self._metrics.store_up.set(await self._database.is_up())
        kind = (b"content-type", CONTENT_TYPE.encode())
        return Answer(200, self._metrics.render(), [kind])

    def _check_count(self, names: list[str]) -> None:
        if len(names) > self._max_namespaces:
            raise BadRequest(
                f"namespaces: must be at most {self._max_namespaces}",
                details={"field": "namespaces"},
            )


def _namespace_in(query: bytes) -> str:
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise BadRequest("namespace: must be UTF-8", details={"field": "namespace"}) from None
    named = [value for name, value in pairs if name == "namespace"]
    if len(named) != 1:
        raise BadRequest(
            "namespace: must be given once, as ?namespace=NAME", details={"field": "namespace"}
        )
    return _checked(named[0], "namespace")


def _checked(name: str, field: str = "name") -> str:
    if len(name) <= 256 and _NAME.fullmatch(name):
        return name
    checked: str = parse_value(NamespaceName, name, field)
    return checked
