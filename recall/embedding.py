"""Vectors for memories and questions, from any server that speaks OpenAI's `/v1/embeddings`.

An embedder that fails costs a vector, never a memory or a request.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import httpx

_AT_ONCE = 64
_SECONDS = 10.0
# What an embedder reads of a text; more would be refused by most.
_MAX_CHARACTERS = 8000

log = logging.getLogger(__name__)


class Embedding:
    """One model of one server."""

    def __init__(self, url: str, model: str, key: str | None = None) -> None:
        self.url = url
        self.model = model
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(headers=headers, timeout=_SECONDS)
        self.failure: str | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def embed(self, texts: Sequence[str]) -> list[list[float] | None]:
        """A vector for each text, or None for those that could not be made."""
        vectors: list[list[float] | None] = []
        for start in range(0, len(texts), _AT_ONCE):
            vectors += await self._embed_some(texts[start : start + _AT_ONCE])
        return vectors

    async def embed_query(self, text: str) -> list[float] | None:
        """The vector of a question, or None."""
        return (await self._embed_some([text]))[0]

    async def _embed_some(self, texts: Sequence[str]) -> list[list[float] | None]:
        asked = {"model": self.model, "input": [text[:_MAX_CHARACTERS] for text in texts]}
        try:
            answer = await self._http.post(f"{self.url}/embeddings", json=asked)
            answer.raise_for_status()
            vectors = _vectors(answer.json(), len(texts))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, asyncio.InvalidStateError) as error:
            # Only its type: the text of an error may quote the address and what was sent.
            self.failure = type(error).__name__
            log.warning("the embedder failed", extra={"reason": self.failure})
            return [None] * len(texts)
        self.failure = None
        return vectors


def _vectors(body: Any, count: int) -> list[list[float] | None]:
    """The vectors in the order of the texts; raises ValueError when there are not as many."""
    rows = body.get("data") if isinstance(body, dict) else None
    if not isinstance(rows, list) or len(rows) != count:
        raise ValueError("not a vector for each text")
    vectors: list[list[float] | None] = [None] * count
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ValueError("not a vector")
        vector = row.get("embedding")
        index = row.get("index", place)
        if not isinstance(index, int) or not 0 <= index < count:
            raise ValueError("not the place of a text")
        if not isinstance(vector, list) or not vector or not all(map(_is_number, vector)):
            raise ValueError("not a vector")
        vectors[index] = [float(number) for number in vector]
    return vectors


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 3.4e38
