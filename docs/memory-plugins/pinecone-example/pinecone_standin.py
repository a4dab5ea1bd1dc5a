"""A local stand-in for a Pinecone serverless index: the data plane over REST, in memory.

    python pinecone_standin.py            # http://127.0.0.1:5081, API key "stand-in"

It keeps to what Pinecone documents for API version 2025-10: the endpoints, the filter language,
the limits, float32 values, and eventual consistency. A write gets a log sequence number (LSN) and
is seen by reads only `delay` seconds later; a query says up to which LSN it has read. Tests
also make it refuse requests (`refuse_next`, `fail_from`). It is for tests: nothing is stored.
"""

import heapq
import math
import os
import time
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

MAX_UPSERT_RECORDS = 1000
MAX_UPSERT_BYTES = 2 * 1000 * 1000
MAX_METADATA_BYTES = 40 * 1000
MAX_ID_CHARS = 512
MAX_TOP_K = 10_000
MAX_RESULT_BYTES = 4 * 1000 * 1000
MAX_FETCH_IDS = 1000
MAX_DELETE_IDS = 1000
MAX_FILTER_VALUES = 10_000
MAX_LIST_PAGE = 100

Metadata = dict[str, Any]
Predicate = Callable[[Metadata], bool]


class Refused(Exception):
    """A request that the service would refuse, with the gRPC code that it puts in the body."""

    def __init__(self, message: str, *, status: int = 400, code: int = 3) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass
class Stored:
    values: "array[float]"
    length: float
    metadata: Metadata

    def cosine(self, terms: list[tuple[int, float]], length: float) -> float:
        """With a vector that is given by its numbers other than zero."""
        return sum(self.values[at] * value for at, value in terms) / (self.length * length)


@dataclass
class Namespace:
    """What reads see, and the writes that they do not see yet."""

    records: dict[str, Stored] = field(default_factory=dict)
    indexed: int = 0
    committed: int = 0
    log: deque[tuple[float, int, Callable[[dict[str, Stored]], None]]] = field(
        default_factory=deque
    )

    def write(self, change: Callable[[dict[str, Stored]], None], delay: float) -> int:
        self.committed += 1
        self.log.append((time.monotonic() + delay, self.committed, change))
        return self.committed

    def catch_up(self) -> None:
        while self.log and self.log[0][0] <= time.monotonic():
            _, self.indexed, change = self.log.popleft()
            change(self.records)


class StandIn:
    def __init__(
        self, *, dimension: int = 1536, api_key: str = "stand-in", delay: float = 0.0
    ) -> None:
        self.dimension = dimension
        self.api_key = api_key
        self.delay = delay
        self.namespaces: dict[str, Namespace] = {}
        self.requests: list[str] = []
        self.fail_from: int | None = None
        self._refusals: deque[tuple[int, dict[str, str]]] = deque()
        self.app = Starlette(
            routes=[
                Route("/vectors/upsert", self._answer(self._upsert), methods=["POST"]),
                Route("/vectors/fetch", self._answer(self._fetch), methods=["GET"]),
                Route("/vectors/list", self._answer(self._list), methods=["GET"]),
                Route("/vectors/delete", self._answer(self._delete), methods=["POST"]),
                Route("/query", self._answer(self._query), methods=["POST"]),
                Route("/describe_index_stats", self._answer(self._stats), methods=["POST"]),
            ]
        )

    def refuse_next(self, count: int, status: int, *, retry_after: str | None = None) -> None:
        """Answer the next requests with an error, as an overloaded or broken service does."""
        headers = {} if retry_after is None else {"retry-after": retry_after}
        self._refusals.extend([(status, headers)] * count)

    def _answer(self, endpoint: Callable[[Request, Any], Response]) -> Any:
        async def respond(request: Request) -> Response:
            self.requests.append(f"{request.method} {request.url.path}")
            if self._refusals:
                status, headers = self._refusals.popleft()
                return _error(status, 8, "refused on purpose", headers)
            if self.fail_from is not None and len(self.requests) >= self.fail_from:
                return _error(503, 14, "down on purpose")
            if request.headers.get("api-key") != self.api_key:
                return JSONResponse("Unauthorized", 401)
            body = await request.body()
            try:
                return endpoint(request, orjson.loads(body) if body else {})
            except Refused as refusal:
                return _error(refusal.status, refusal.code, str(refusal))

        return respond

    def _namespace(self, name: str) -> Namespace:
        namespace = self.namespaces.get(name, Namespace())
        namespace.catch_up()
        return namespace

    def _committed(self, name: str, change: Callable[[dict[str, Stored]], None]) -> Response:
        lsn = self.namespaces.setdefault(name, Namespace()).write(change, self.delay)
        return JSONResponse({}, headers={"x-pinecone-request-lsn": str(lsn)})

    def _upsert(self, request: Request, body: Any) -> Response:
        vectors = body["vectors"]
        _limit(len(vectors), MAX_UPSERT_RECORDS, "vectors in one upsert")
        _limit(int(request.headers["content-length"]), MAX_UPSERT_BYTES, "bytes in one upsert")
        changed = {vector["id"]: self._record(vector) for vector in vectors}
        return self._committed(body.get("namespace", ""), lambda records: records.update(changed))

    def _record(self, vector: Any) -> Stored:
        identifier, values, metadata = vector["id"], vector["values"], vector.get("metadata", {})
        if not 1 <= len(identifier) <= MAX_ID_CHARS or not identifier.isascii():
            raise Refused("Vector ID must be ASCII, 1 to 512 characters")
        self._check_vector(values)
        if not any(values):
            raise Refused("Dense vectors must contain at least one non-zero value")
        _limit(
            len(orjson.dumps(metadata)),
            MAX_METADATA_BYTES,
            "bytes of metadata",
        )
        for key, value in metadata.items():
            if key.startswith("$") or not _is_metadata(value):
                raise Refused("Metadata value must be a string, number, boolean or list of strings")
        kept = {
            key: float(value)
            if isinstance(value, int) and value is not True and value is not False
            else value
            for key, value in metadata.items()
        }
        stored = _as_float32(values)
        return Stored(stored, math.hypot(*stored), kept)

    def _check_vector(self, values: Any) -> None:
        if len(values) != self.dimension:
            raise Refused(
                f"Vector dimension {len(values)} does not match the dimension of the index"
                f" {self.dimension}"
            )

    def _query(self, _request: Request, body: Any) -> Response:
        self._check_vector(body["vector"])
        top_k = body["topK"]
        if not 1 <= top_k <= MAX_TOP_K:
            raise Refused("topK must be between 1 and 10000")
        matches = _compile(body.get("filter") or {})
        namespace = self._namespace(body.get("namespace", ""))
        vector = _as_float32(body["vector"])
        terms = [(at, value) for at, value in enumerate(vector) if value]
        length = math.hypot(*vector) or 1.0
        found = (
            (record.cosine(terms, length), identifier, record)
            for identifier, record in namespace.records.items()
            if matches(record.metadata)
        )
        rows = [
            {"id": identifier, "score": score}
            | ({"metadata": record.metadata} if body.get("includeMetadata") else {})
            for score, identifier, record in heapq.nlargest(top_k, found, key=lambda row: row[:2])
        ]
        answer = orjson.dumps({"matches": rows, "namespace": body.get("namespace", "")})
        _limit(len(answer), MAX_RESULT_BYTES, "bytes of query result")
        return Response(
            answer,
            media_type="application/json",
            headers={"x-pinecone-max-indexed-lsn": str(namespace.indexed)},
        )

    def _fetch(self, request: Request, _body: Any) -> Response:
        identifiers = request.query_params.getlist("ids")
        _limit(len(identifiers), MAX_FETCH_IDS, "ids in one fetch")
        records = self._namespace(request.query_params.get("namespace", "")).records
        vectors = {
            identifier: {
                "id": identifier,
                "values": list(records[identifier].values),
                "metadata": records[identifier].metadata,
            }
            for identifier in identifiers
            if identifier in records
        }
        return JSONResponse({"vectors": vectors})

    def _list(self, request: Request, _body: Any) -> Response:
        prefix = request.query_params.get("prefix", "")
        after = request.query_params.get("paginationToken", "")
        limit = int(request.query_params.get("limit", MAX_LIST_PAGE))
        _limit(limit, MAX_LIST_PAGE, "ids in one page")
        records = self._namespace(request.query_params.get("namespace", "")).records
        rest = (name for name in sorted(records) if name.startswith(prefix) and name > after)
        page = list(islice(rest, limit + 1))
        answer: dict[str, Any] = {"vectors": [{"id": name} for name in page[:limit]]}
        if len(page) > limit:
            answer["pagination"] = {"next": page[limit - 1]}
        return JSONResponse(answer)

    def _delete(self, _request: Request, body: Any) -> Response:
        name = body.get("namespace", "")
        if name not in self.namespaces:
            raise Refused("Namespace not found", status=404, code=5)
        if body.get("deleteAll"):
            return self._committed(name, dict.clear)
        if "filter" in body:
            matches = _compile(body["filter"])
            return self._committed(name, lambda records: _remove_matching(records, matches))
        identifiers = body["ids"]
        _limit(len(identifiers), MAX_DELETE_IDS, "ids in one delete")
        return self._committed(name, lambda records: _remove(records, identifiers))

    def _stats(self, _request: Request, _body: Any) -> Response:
        counts = {name: len(self._namespace(name).records) for name in self.namespaces}
        return JSONResponse(
            {
                "dimension": self.dimension,
                "indexFullness": 0,
                "namespaces": {name: {"vectorCount": count} for name, count in counts.items()},
                "totalVectorCount": sum(counts.values()),
            }
        )


def _error(status: int, code: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"code": code, "message": message, "details": []}, status, headers)


def _limit(size: int, most: int, what: str) -> None:
    if size > most:
        raise Refused(f"{size} {what}: the limit is {most}")


def _is_metadata(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str | bool | int | float)


def _as_float32(values: list[float]) -> "array[float]":
    try:
        return array("f", values)
    except OverflowError:
        raise Refused("Vector values must fit a 32-bit float") from None


def _remove(records: dict[str, Stored], identifiers: list[str]) -> None:
    for identifier in identifiers:
        records.pop(identifier, None)


def _remove_matching(records: dict[str, Stored], matches: Predicate) -> None:
    _remove(records, [name for name, record in records.items() if matches(record.metadata)])


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, wanted: value is not None and value == wanted,
    "$ne": lambda value, wanted: value != wanted,
    "$gt": lambda value, wanted: _is_number(value) and value > wanted,
    "$gte": lambda value, wanted: _is_number(value) and value >= wanted,
    "$lt": lambda value, wanted: _is_number(value) and value < wanted,
    "$lte": lambda value, wanted: _is_number(value) and value <= wanted,
    "$in": lambda value, wanted: value in wanted,
    "$nin": lambda value, wanted: value not in wanted,
    "$exists": lambda value, wanted: (value is not None) == wanted,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compile(expression: Metadata) -> Predicate:
    """The filter language as one predicate; what Pinecone does not know is refused."""
    return _all_of([_clause(key, value) for key, value in expression.items()])


def _all_of(tests: list[Predicate]) -> Predicate:
    if len(tests) == 1:
        return tests[0]
    return lambda metadata: all(test(metadata) for test in tests)


def _clause(key: str, value: Any) -> Predicate:
    if key in ("$and", "$or"):
        parts = [_compile(part) for part in value]
        combine = all if key == "$and" else any
        return lambda metadata: combine(part(metadata) for part in parts)
    if key.startswith("$"):
        raise Refused(f"{key} is not a known operator at this place")
    operators = value if isinstance(value, dict) else {"$eq": value}
    return _all_of([_comparison(key, name, wanted) for name, wanted in operators.items()])


def _comparison(key: str, name: str, wanted: Any) -> Predicate:
    if name not in _COMPARE:
        raise Refused(f"{name} is not a known operator")
    if name in ("$in", "$nin"):
        _limit(len(wanted), MAX_FILTER_VALUES, f"values in {name}")
        wanted = frozenset(wanted)
    compare = _COMPARE[name]
    return lambda metadata: compare(metadata.get(key), wanted)


def main() -> None:
    host, _, port = os.environ.get("STANDIN_LISTEN_ADDR", "127.0.0.1:5081").rpartition(":")
    delay = float(os.environ.get("STANDIN_DELAY", "0.02"))
    uvicorn.run(StandIn(delay=delay).app, host=host, port=int(port), access_log=False)


if __name__ == "__main__":
    main()
