"""Vectors from any server that implements OpenAI's `/v1/embeddings`.

The local model is served the same way: see `embedding_server`. If the embedder fails, there is no
vector, but never an error.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from language.endpoint import Endpoint, EndpointFailed

# Limits of a request and of each text; most servers refuse more.
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
        """The arguments are those of `Endpoint`; `timeout` applies to each request."""
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
        """A vector for each text, or None where it failed."""
        vectors: list[list[float] | None] = []
        for start in range(0, len(texts), MAX_TEXTS):
            made = await self._ask(texts[start : start + MAX_TEXTS])
            if made is None:
                # The server is down; do not wait for it again.
                break
            vectors += made
        return vectors + [None] * (len(texts) - len(vectors))

    async def embed_query(self, text: str, *, within: float | None = None) -> list[float] | None:
        """The vector of a question, or None; `within` limits the time, in seconds."""
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
    """The vectors, in the order of the texts."""
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
