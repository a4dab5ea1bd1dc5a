"""Vectors for messages and queries, where an embedder is set: optional, best effort.

An embedder that is down or slow costs a vector, never an error and never more than its time: after
a failure it is left alone for a while, and both the index and searches go on by words.
"""

import time
from collections.abc import Sequence

from conversations.settings import Settings
from language.embedder import Embedder
from serving.metrics import Metrics

QUERY_SECONDS = 1.0
_MESSAGES_SECONDS = 5.0
_REST_SECONDS = 10.0


class Embeddings:
    """What the settings name; methods never raise."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._embedder: Embedder | None = None
        if settings.embed_url is not None and settings.embed_model is not None:
            self._embedder = Embedder(
                settings.embed_url,
                settings.embed_model,
                settings.embed_api_key,
                timeout=_MESSAGES_SECONDS,
            )
        self._rests_until = 0.0
        self._failures = metrics.counter(
            "embedder_failures_total", "Requests that the embedder did not answer well."
        )

    async def aclose(self) -> None:
        if self._embedder is not None:
            await self._embedder.aclose()

    async def of_messages(self, texts: Sequence[str]) -> list[list[float] | None]:
        """A vector for each text, or None where there is none."""
        if self._embedder is None or self._is_resting():
            return [None] * len(texts)
        vectors = await self._embedder.embed(texts)
        if None in vectors:
            self._failed()
        return vectors

    async def of_query(self, query: str) -> list[float] | None:
        """The vector of a query, if it is there within a second."""
        if self._embedder is None or self._is_resting():
            return None
        vector = await self._embedder.embed_query(query, within=QUERY_SECONDS)
        if vector is None:
            self._failed()
        return vector

    def _is_resting(self) -> bool:
        return time.monotonic() < self._rests_until

    def _failed(self) -> None:
        self._failures.inc()
        self._rests_until = time.monotonic() + _REST_SECONDS
