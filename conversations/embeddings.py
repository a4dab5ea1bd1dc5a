"""Vectors for messages and queries, if an embedder is configured: best effort.

If the embedder is down or slow, vectors are missing; that is never an error, and never takes longer
than the timeout. After a failure it is not called for a while, and words are used alone.
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
    """The configured embedder, if any; methods never raise."""

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
            "embedder_failures_total", "Requests to the embedder that failed."
        )

    async def aclose(self) -> None:
        if self._embedder is not None:
            await self._embedder.aclose()

    async def of_messages(self, texts: Sequence[str]) -> list[list[float] | None]:
        """A vector for each text, or None."""
        if self._embedder is None or self._is_resting():
            return [None] * len(texts)
        vectors = await self._embedder.embed(texts)
        if None in vectors:
            self._failed()
        return vectors

    async def of_query(self, query: str) -> list[float] | None:
        """The vector of a query, if it arrives within a second."""
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
