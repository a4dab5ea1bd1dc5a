"""Finds the memories for a query: candidates, ranking, fusion with vectors, budget.

The proxy, the preview and the MCP search all use `retrieve`.
"""

import asyncio
from collections.abc import Awaitable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Literal, TypeVar

from language.embedder import Embedder
from recall.candidate import Candidate
from recall.memory import SHARED, Memory, MemoryType, now
from recall.relevance import Query
from recall.selection import Selection
from recall.store import MemoryStore, open_store

Strategy = Literal["exact", "recent", "semantic", "hybrid"]
Scope = Literal["session", "apiKey", "global"]
Tier = Literal["recent", "keyword", "vector", "hybrid-rrf"]

MAX_BUDGET: Final = 8000
CANDIDATES: Final = 100
NEAREST: Final = 20
RANK_CONSTANT: Final = 60
MAX_QUERY: Final = 100_000
"""Characters of a query that are looked at: as many as a memory may have."""
# A plugin looks up each word; the longest are the most specific.
_SEARCH_WORDS = 24
_SEARCH_LETTERS = 255

_First = TypeVar("_First")
_Second = TypeVar("_Second")


@dataclass(frozen=True)
class RetrievalConfig:
    """How to retrieve. Without a query (None), the newest are returned.

    `embedding_seconds` is the time limit of the embedder, after which it is not used.
    """

    enabled: bool = True
    max_tokens: int = 2000
    strategy: Strategy = "exact"
    scope: Scope = "apiKey"
    retention_days: int = 30
    query: str | None = field(default=None, repr=False)
    session_id: str | None = None
    type: MemoryType | None = None
    limit: int | None = None
    embedding_seconds: float = 5.0


@dataclass(frozen=True)
class Ranked:
    """A memory with its rank, and the reasons for it."""

    candidate: Candidate
    score: float
    tier: Tier
    vec_score: float | None = None
    fts_score: float | None = None

    @property
    def memory(self) -> Memory:
        return self.candidate.memory

    @property
    def tokens(self) -> int:
        return self.candidate.tokens


# The same during ranking, as a tuple that sorts best first: negative score, tie-breaker, memory,
# tier, score by vector, score by words.
_Rank = tuple[float, tuple[float, str], Candidate, Tier, float | None, float | None]


@dataclass(frozen=True)
class Resolution:
    """How the memories were found."""

    strategy_used: str
    embedding_source: str | None = None
    embedding_model: str | None = None
    fallback_reason: str | None = None


@dataclass(frozen=True)
class Retrieved:
    """What fits into the budget, best first."""

    ranks: Sequence[_Rank]
    resolution: Resolution

    @property
    def candidates(self) -> list[Candidate]:
        return [rank[2] for rank in self.ranks]

    @property
    def memories(self) -> list[Memory]:
        return [one.memory for one in self.candidates]

    @property
    def ranked(self) -> list[Ranked]:
        """The memories with the reasons for their ranks, for the preview."""
        return [
            Ranked(one, -score, tier, by_vector, by_words)
            for score, _, one, tier, by_vector, by_words in self.ranks
        ]

    @property
    def tokens(self) -> int:
        return sum(one.tokens for one in self.candidates)


def relevance(memory: Any, query: str) -> int:
    """How well a memory matches a query, judged by its words; 0 if not at all.

    The memory may also be a REST object, or anything with `content`, `key` and `metadata`.
    """
    if not isinstance(memory, Memory):
        get = memory.get if isinstance(memory, Mapping) else partial(getattr, memory)
        moment = now()
        memory = Memory(
            id="",
            api_key_id=SHARED,
            key=get("key", ""),
            content=get("content", ""),
            metadata=get("metadata", None) or {},
            created_at=moment,
            updated_at=moment,
        )
    return Query(query).scores([Candidate(memory)])[0]


async def retrieve_memories(
    api_key_id: str,
    config: RetrievalConfig | Mapping[str, Any] | None = None,
    *,
    store: MemoryStore | None = None,
) -> list[Memory]:
    """The memories of an owner that match the config's query, best first, within its budget.

    Without a store, the plugin at `MEMORY_PLUGIN_URL` is used.
    """
    chosen = config if isinstance(config, RetrievalConfig) else _config(config or {})
    async with open_store(store) as opened:
        return (await retrieve(opened, api_key_id, chosen)).memories


async def retrieve(
    store: MemoryStore, api_key_id: str | None, config: RetrievalConfig
) -> Retrieved:
    """The same with reasons; without `api_key_id` (None), for all owners."""
    nothing = Retrieved([], Resolution(_name(config.strategy)))
    if not config.enabled or config.max_tokens <= 0:
        return nothing
    selection = await _selection(store, api_key_id, config)
    if selection is None:
        return nothing
    query = _query(config)
    if query is not None and not query.words and config.strategy in ("semantic", "hybrid"):
        return nothing
    cutoff = now() - timedelta(days=config.retention_days)
    if query is None:
        newest = await store.newest(selection, CANDIDATES)
        listed = [_rank(one, 0, "recent") for one in _alive(newest.candidates, cutoff)]
        return Retrieved(_walk(listed, config), nothing.resolution)
    if config.strategy in ("exact", "recent"):
        by_words = await _by_words(store, selection, query, config, cutoff)
        return Retrieved(_walk(by_words, config), nothing.resolution)
    embedder = store.embedder
    if embedder is None:
        by_words = await _by_words(store, selection, query, config, cutoff)
        reason = "no embedder is configured"
        return Retrieved(
            _walk(by_words, config), Resolution(_name(config.strategy), fallback_reason=reason)
        )
    by_words, (near, resolution) = await _both(
        _by_words(store, selection, query, config, cutoff),
        _by_vector(store, embedder, selection, config, cutoff),
    )
    if near:
        ranked = near if config.strategy == "semantic" else _fuse(by_words, near)
        return Retrieved(_walk(ranked, config), resolution)
    return Retrieved(_walk(by_words, config), resolution)


async def _selection(
    store: MemoryStore, api_key_id: str | None, config: RetrievalConfig
) -> Selection | None:
    """The memories to consider; None if there cannot be any."""
    session_id = config.session_id or None
    if config.scope != "session":
        session_id = None
    elif session_id is None:
        return None
    if api_key_id is None or config.scope == "global":
        owners = tuple(await store.owners())
    elif config.scope == "session" or api_key_id == SHARED:
        owners = (api_key_id,)
    else:
        owners = (api_key_id, SHARED)
    return Selection(owners, type=config.type, session_id=session_id)


def _query(config: RetrievalConfig) -> Query | None:
    if config.query is None:
        return None
    text = config.query[:MAX_QUERY]
    if config.strategy in ("exact", "recent") and not text.strip():
        return None
    return Query(text)


async def _by_words(
    store: MemoryStore,
    selection: Selection,
    query: Query,
    config: RetrievalConfig,
    cutoff: datetime,
) -> list[_Rank]:
    """The candidates that match words of the query, best first."""
    found: Sequence[Candidate] = ()
    newest: dict[str, tuple[int, Candidate]] = {}
    if config.strategy == "hybrid":
        found, newest = await _both(
            _found(store, selection, query), _newest(store, selection, query, cutoff)
        )
    else:
        if config.strategy == "semantic":
            found = _alive(await _found(store, selection, query), cutoff)
        if not found:
            newest = await _newest(store, selection, query, cutoff)
    by_id = {one.id: one for one in found}
    others = _alive([one for id_, one in by_id.items() if id_ not in newest], cutoff)
    scored = [*zip(query.scores(others), others, strict=True)]
    scored += [it for id_, it in newest.items() if it[0] or id_ in by_id]
    # Whatever the plugin found counts as a match.
    ranks: list[_Rank] = [
        (-(points or 1), one.order, one, "keyword", None, points or 1) for points, one in scored
    ]
    ranks.sort()
    return ranks


async def _found(store: MemoryStore, selection: Selection, query: Query) -> Sequence[Candidate]:
    """The results of the plugin's search."""
    words = sorted(query.words, key=len, reverse=True)[:_SEARCH_WORDS]
    asked = " ".join(word[:_SEARCH_LETTERS] for word in query.words if word in words)
    return (await store.search(selection, asked, CANDIDATES)).candidates


async def _newest(
    store: MemoryStore, selection: Selection, query: Query, cutoff: datetime
) -> dict[str, tuple[int, Candidate]]:
    """The newest by id, with their scores; they usually arrive before the search results."""
    newest = _alive((await store.newest(selection, CANDIDATES)).candidates, cutoff)
    return {one.id: (points, one) for points, one in zip(query.scores(newest), newest, strict=True)}


async def _by_vector(
    store: MemoryStore,
    embedder: Embedder,
    selection: Selection,
    config: RetrievalConfig,
    cutoff: datetime,
) -> tuple[list[_Rank], Resolution]:
    strategy = _name(config.strategy)
    if not await store.plugin.keeps_vectors():
        return [], Resolution(strategy, fallback_reason="the plugin keeps no vectors")
    source = {"embedding_source": "remote", "embedding_model": embedder.model}
    try:
        async with asyncio.timeout(config.embedding_seconds):
            vector = await embedder.embed_query((config.query or "")[:MAX_QUERY])
    except TimeoutError:
        reason = "the embedder did not answer in time"
        return [], Resolution(strategy, **source, fallback_reason=reason)
    if vector is None:
        return [], Resolution(strategy, **source, fallback_reason="the embedder failed")
    nearest = await store.nearest(selection, vector, NEAREST, model=embedder.model)
    alive = {one.id for one in _alive(nearest.candidates, cutoff)}
    near = [
        (one, score)
        for one, score in zip(nearest.candidates, nearest.scores, strict=True)
        if one.id in alive
    ]
    if not near:
        reason = "no memory has a vector of this model"
        return [], Resolution(strategy, **source, fallback_reason=reason)
    best = max(score for _, score in near)
    ranks = [
        _rank(one, score, "vector", by_vector=score) for one, score in near if score >= best / 2
    ]
    return ranks, Resolution(strategy, **source)


def _fuse(by_words: list[_Rank], by_vector: list[_Rank]) -> list[_Rank]:
    """Reciprocal rank fusion: what ranks high in either list ranks high."""
    fused: dict[str, float] = {}
    known: dict[str, _Rank] = {}
    for ranks in (by_words, by_vector):
        for place, rank in enumerate(ranks, 1):
            id_ = rank[2].id
            fused[id_] = fused.get(id_, 0.0) + 1 / (RANK_CONSTANT + place)
            known.setdefault(id_, rank)
    vectors = {rank[2].id: rank[4] for rank in by_vector}
    return sorted(
        _rank(one, fused[id_], "hybrid-rrf", by_vector=vectors.get(id_), by_words=points)
        for id_, (_, _, one, _, _, points) in known.items()
    )


def _walk(ranks: Sequence[_Rank], config: RetrievalConfig) -> list[_Rank]:
    """Distinct contents within limit and budget, but at least one."""
    budget = min(max(config.max_tokens, 1), MAX_BUDGET)
    seen: set[str] = set()
    kept: list[_Rank] = []
    used = 0
    for rank in ranks:
        candidate = rank[2]
        if candidate.plain in seen:
            continue
        if config.limit is not None and len(kept) == config.limit:
            break
        used += candidate.tokens
        if used > budget and kept:
            break
        seen.add(candidate.plain)
        kept.append(rank)
        if used > budget:
            break
    return kept


def _alive(candidates: Iterable[Candidate], cutoff: datetime) -> list[Candidate]:
    """Those that have not expired and were changed at or after the cutoff."""
    moment = now()
    return [
        one
        for one in candidates
        if one.updated_at >= cutoff and (one.expires_at is None or one.expires_at > moment)
    ]


async def _both(
    first: Awaitable[_First], second: Coroutine[Any, Any, _Second]
) -> tuple[_First, _Second]:
    """The results of both. The first starts at once, the second while the first waits."""
    other = asyncio.create_task(second)
    try:
        return await first, await other
    except BaseException:
        other.cancel()
        # Only the first failure is reported.
        await asyncio.gather(other, return_exceptions=True)
        raise


def _rank(
    one: Candidate,
    score: float,
    tier: Tier,
    *,
    by_vector: float | None = None,
    by_words: float | None = None,
) -> _Rank:
    return (-score, one.order, one, tier, by_vector, by_words)


def _name(strategy: Strategy) -> str:
    return "exact" if strategy == "recent" else strategy


def _config(given: Mapping[str, Any]) -> RetrievalConfig:
    known = {one.name for one in fields(RetrievalConfig)}
    if unknown := sorted(given.keys() - known):
        raise ValueError(f"unknown fields in the retrieval config: {', '.join(unknown)}")
    return RetrievalConfig(**given)
