"""The language model and the embedder: optional, best effort.

A server that is down, slow or returns nonsense is only counted: memories are written without a
vector, searches use words alone, and questions for facts wait.
"""

from collections.abc import Sequence

from gateway.metrics import Numbers
from gateway.settings import Settings
from language.embedder import Embedder
from language.llm import FactFinder

_QUERY_SECONDS = 1.0
_TEXTS_SECONDS = 5.0
_FACTS_SECONDS = 60.0


class Models:
    """The configured models; the methods never raise."""

    def __init__(self, settings: Settings, numbers: Numbers) -> None:
        self._numbers = numbers
        self._embedder: Embedder | None = None
        if settings.embed_url is not None and settings.embed_model is not None:
            self._embedder = Embedder(
                settings.embed_url,
                settings.embed_model,
                settings.embed_api_key,
                timeout=_TEXTS_SECONDS,
            )
        self._finder: FactFinder | None = None
        if settings.llm_url is not None and settings.llm_model is not None:
            self._finder = FactFinder(
                settings.llm_url, settings.llm_model, settings.llm_api_key, timeout=_FACTS_SECONDS
            )
        self.finds_facts = self._finder is not None
        self.embeds = self._embedder is not None

    async def aclose(self) -> None:
        for model in (self._embedder, self._finder):
            if model is not None:
                await model.aclose()

    async def embed(self, texts: Sequence[str]) -> list[list[float] | None]:
        """An embedding for each text; None where the embedder failed."""
        if self._embedder is None:
            return [None] * len(texts)
        vectors = await self._embedder.embed(texts)
        if None in vectors:
            self._count("embedder")
        return vectors

    async def embed_query(self, query: str) -> list[float] | None:
        """The embedding of a query, if it arrives within a second."""
        if self._embedder is None:
            return None
        vector = await self._embedder.embed_query(query, within=_QUERY_SECONDS)
        if vector is None:
            self._count("embedder")
        return vector

    async def find_facts(self, said: str) -> list[str] | None:
        """Facts in what a user said; None when the model gave no usable answer."""
        if self._finder is None:
            return None
        facts = await self._finder.find_facts(said)
        if facts is None:
            self._count("llm")
        return facts

    def _count(self, model: str) -> None:
        self._numbers.model_failures.labels(model).inc()
