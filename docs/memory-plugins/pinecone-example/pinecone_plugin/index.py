"""The data plane of one Pinecone index, over REST.

Errors of the service become errors of the contract here and nowhere else:

    no answer, 408, 5xx         Unavailable, 503: try again later
    429                         Unavailable, 429, with the Retry-After that the service gave
    401, 402, 403               Unavailable, 503: our key or account, nothing the caller can fix
    any other 4xx               MemoryPluginError, 500: this plugin sent something wrong

Pinecone is eventually consistent. Every write answers with a log sequence number (LSN), and every
query says up to which LSN of the namespace it has read. `settle` waits until a query sees all that
was written, so that nobody is told "written" before a search finds it. From then on `query` takes
no answer from before that: it asks again.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import orjson

from contract import MemoryPluginError, Unavailable

API_VERSION = "2025-10"
UPSERT_RECORDS = 1000
UPSERT_BYTES = 1_900_000  # of 2 MB, the rest is room for the envelope of the request
DELETE_IDS = 1000
LIST_PAGE = 100
ATTEMPTS = 4

Record = dict[str, Any]


class Index:
    def __init__(
        self, host: str, api_key: str, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._http = httpx.AsyncClient(
            base_url=host,
            headers={
                "Api-Key": api_key,
                "Content-Type": "application/json",
                "X-Pinecone-Api-Version": API_VERSION,
            },
            timeout=httpx.Timeout(10.0),
            transport=transport,
        )
        self._written: defaultdict[str, int] = defaultdict(int)
        self._settled: defaultdict[str, int] = defaultdict(int)
        self._dimension: int | None = None

    async def aclose(self) -> None:
        await self._http.aclose()

    async def stats(self) -> dict[str, Any]:
        return (await self._send("POST", "/describe_index_stats", content=b"{}")).json()  # type: ignore[no-any-return]

    async def dimension(self) -> int:
        if self._dimension is None:
            self._dimension = int((await self.stats())["dimension"])
        return self._dimension

    async def upsert(self, namespace: str, records: Sequence[Record]) -> None:
        """Insert or replace, in as few requests as the limits of the service allow."""
        batch: list[bytes] = []
        size = 0
        for record in map(orjson.dumps, records):
            if batch and (len(batch) == UPSERT_RECORDS or size + len(record) > UPSERT_BYTES):
                await self._upsert(namespace, batch)
                batch, size = [], 0
            batch.append(record)
            size += len(record) + 1
        if batch:
            await self._upsert(namespace, batch)

    async def delete(self, namespace: str, identifiers: Sequence[str]) -> None:
        for start in range(0, len(identifiers), DELETE_IDS):
            ids = list(identifiers[start : start + DELETE_IDS])
            await self._delete(namespace, {"ids": ids})

    async def delete_matching(self, namespace: str, condition: dict[str, Any]) -> None:
        await self._delete(namespace, {"filter": condition})

    async def drop(self, namespace: str) -> None:
        await self._delete(namespace, {"deleteAll": True})

    async def query(
        self,
        namespace: str,
        condition: dict[str, Any],
        *,
        top_k: int,
        vector: Sequence[float] | None = None,
    ) -> list[Record]:
        """The best matches, id, score and metadata, as of the last settled write or later.

        Without a vector the order means nothing: it is a look-up by condition.
        """
        body = {
            "namespace": namespace,
            "vector": vector or await self.placeholder(),
            "topK": top_k,
            "filter": condition,
            "includeMetadata": True,
        }
        return await self._query(namespace, body, self._settled[namespace])

    async def settle(self, *namespaces: str) -> None:
        """Return when queries see everything that was written to the namespaces so far."""
        await asyncio.gather(*map(self._settle, namespaces))

    async def list_ids(self, namespace: str) -> AsyncIterator[list[str]]:
        """All ids in the order of their bytes, page by page."""
        params: dict[str, str | int] = {"namespace": namespace, "limit": LIST_PAGE}
        while True:
            page = (await self._send("GET", "/vectors/list", params=params)).json()
            yield [vector["id"] for vector in page.get("vectors", ())]
            token = (page.get("pagination") or {}).get("next")
            if not token:
                return
            params["paginationToken"] = token

    async def placeholder(self) -> list[float]:
        """The vector of a record that has none: every record needs one that is not all zeros."""
        return [1.0] + [0.0] * (await self.dimension() - 1)

    async def _settle(self, namespace: str) -> None:
        written = self._written[namespace]
        body = {"namespace": namespace, "vector": await self.placeholder(), "topK": 1}
        await self._query(namespace, body | {"filter": {"key": ""}}, written)  # finds nothing
        self._settled[namespace] = max(self._settled[namespace], written)

    async def _query(self, namespace: str, body: dict[str, Any], wanted: int) -> list[Record]:
        """Ask until the answer reflects the write with the number `wanted`."""
        content = orjson.dumps(body)
        for pause in [0.02, 0.05, 0.1, 0.2] + [0.5] * 60:
            response = await self._send("POST", "/query", content=content)
            if int(response.headers.get("x-pinecone-max-indexed-lsn", 0)) >= wanted:
                return orjson.loads(response.content)["matches"]  # type: ignore[no-any-return]
            await asyncio.sleep(pause)
        raise Unavailable(f"the index lags behind the writes to {namespace}", retry_after=5)

    async def _upsert(self, namespace: str, records: Sequence[bytes]) -> None:
        name = orjson.dumps(namespace)
        body = b'{"namespace":%b,"vectors":[%b]}' % (name, b",".join(records))
        self._note(namespace, await self._send("POST", "/vectors/upsert", content=body))

    async def _delete(self, namespace: str, what: dict[str, Any]) -> None:
        body = orjson.dumps({"namespace": namespace, **what})
        self._note(namespace, await self._send("POST", "/vectors/delete", content=body))

    def _note(self, namespace: str, response: httpx.Response) -> None:
        lsn = int(response.headers.get("x-pinecone-request-lsn", 0))
        self._written[namespace] = max(self._written[namespace], lsn)

    async def _send(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """One request, repeated with growing pauses while the service asks for patience.

        Every request that this plugin makes may be repeated: an upsert replaces, a delete of
        what is gone changes nothing.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = await self._http.request(method, path, **arguments)
            except httpx.TransportError as error:
                failure = Unavailable(
                    f"the vector service did not answer ({type(error).__name__})", retry_after=1
                )
            else:
                if response.is_success or (response.status_code == 404 and path.endswith("delete")):
                    return response
                failure = _failure(response)
            if attempt < ATTEMPTS:
                await asyncio.sleep(0.05 * 2**attempt)
        raise failure


def _failure(response: httpx.Response) -> Unavailable:
    """What a refusal means for our caller; raises when repeating the request cannot help."""
    status = response.status_code
    if status == 429:
        retry_after = response.headers.get("retry-after", "")
        seconds = int(retry_after) if retry_after.isdigit() else 1
        return Unavailable(
            "the vector service limits our rate", status=429, retry_after=max(seconds, 1)
        )
    if status in (401, 402, 403):
        raise Unavailable(
            f"the vector service refused our key or account ({status}): check PINECONE_API_KEY",
            retry_after=30,
        )
    if status < 500 and status != 408:
        raise MemoryPluginError(f"the vector service refused a request of this plugin ({status})")
    return Unavailable(f"the vector service failed ({status})", retry_after=1)
