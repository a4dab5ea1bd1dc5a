"""Vectors of texts, from any server that speaks OpenAI's `/v1/embeddings`.

The local model is such a server, too: see `embedding_server`. An embedder that fails costs a
vector, never an error.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from language.endpoint import Endpoint, EndpointFailed

# What is sent at once, and of each text: more would be refused by most servers.
MAX_TEXTS = 64
MAX_CHARACTERS = 8000

log = logging.getLogger(__name__)


class Embedder:
    """One model of one server. `failure` says why the last request failed, or is None."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        proxies: bool = False,
    ) -> None:
        """As `Endpoint` takes them; `timeout` is that of each request."""
        self.url = url
        self.model = model
        self.failure: str | None = None
        self._endpoint = Endpoint(url, key, timeout=timeout, proxies=proxies)

    def __repr__(self) -> str:
        return f"Embedder(model={self.model!r})"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def embed(self, texts: Sequence[str]) -> list[list[float] | None]:
        """A vector for each text, or None for those that could not be made."""
        vectors: list[list[float] | None] = []
        for start in range(0, len(texts), MAX_TEXTS):
            made = await self._ask(texts[start : start + MAX_TEXTS])
            if made is None:
                # It is down: the rest would only wait for it, too.
                break
            vectors += made
        return vectors + [None] * (len(texts) - len(vectors))

    async def embed_query(self, text: str, *, within: float | None = None) -> list[float] | None:
        """The vector of a question, or None; `within`: the seconds that it may take."""
        try:
            async with asyncio.timeout(within):
                made = await self._ask([text])
        except TimeoutError:
            self._failed("timeout")
            return None
        return None if made is None else made[0]

    async def _ask(self, texts: Sequence[str]) -> list[list[float] | None] | None:
        body = {"model": self.model, "input": [text[:MAX_CHARACTERS] for text in texts]}
        try:
            vectors = _vectors(await self._endpoint.post("/embeddings", body), len(texts))
        except EndpointFailed as error:
            self._failed(str(error))
            return None
        self.failure = None
        return vectors

    def _failed(self, reason: str) -> None:
        self.failure = reason
        log.warning("the embedder failed", extra={"reason": reason})


def _vectors(body: Any, count: int) -> list[list[float] | None]:
    """The vectors in the order of the texts."""
    rows = body.get("data") if isinstance(body, dict) else None
    if not isinstance(rows, list) or len(rows) != count:
        raise EndpointFailed("the response does not have one vector per text")
    vectors: list[list[float] | None] = [None] * count
    for place, row in enumerate(rows):
        vector = row.get("embedding") if isinstance(row, dict) else None
        index = row.get("index", place) if isinstance(row, dict) else None
        if type(index) is not int or not 0 <= index < count or vectors[index] is not None:
            raise EndpointFailed("the response does not have one vector per text")
        if not isinstance(vector, list) or not vector or not all(map(_is_number, vector)):
            raise EndpointFailed("the response has an empty vector")
        vectors[index] = [float(number) for number in vector]
    return vectors


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 3.4e38
