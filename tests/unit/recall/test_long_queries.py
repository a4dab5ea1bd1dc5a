"""However long a message is, only a bounded part of it is looked at."""

from typing import Any, cast

import pytest

from recall.memory import Memory, now
from recall.retrieval import MAX_QUERY, RetrievalConfig, Retrieved, Strategy, retrieve
from recall.rows import Found
from recall.store import MemoryStore

pytestmark = pytest.mark.anyio


class _Store:
    """Finds nothing by words, and has one memory; `asked` is what was searched for."""

    embedder = None

    def __init__(self, content: str) -> None:
        moment = now()
        fields: dict[str, Any] = {"created_at": moment, "updated_at": moment}
        self._memory = Memory(id="i", api_key_id="ada", key="k", content=content, **fields)
        self.asked: list[str] = []

    async def newest(self, *_: object) -> Found:
        return Found.of([self._memory])

    async def search(self, _selection: object, words: str, _limit: int) -> Found:
        self.asked.append(words)
        return Found()


async def _ask(store: _Store, query: str, strategy: Strategy = "hybrid") -> Retrieved:
    config = RetrievalConfig(query=query, strategy=strategy)
    return await retrieve(cast(MemoryStore, store), "ada", config)


async def test_what_follows_the_longest_query_is_not_read() -> None:
    store = _Store("I like tea")
    assert (await _ask(store, "hello " * (MAX_QUERY // 6 - 1) + "tea")).memories
    assert not (await _ask(store, "hello " * (MAX_QUERY // 6 + 1) + "tea")).memories
    assert not (await _ask(store, " " * MAX_QUERY + "tea")).memories


@pytest.mark.parametrize("query", ["a" * 5_000_000, "tea " + "é" * 5_000_000])
async def test_a_plugin_is_not_asked_for_endless_words(query: str) -> None:
    store = _Store("I like tea")
    await _ask(store, query)
    [asked] = store.asked
    assert max(map(len, asked.split())) <= 255
    assert asked.startswith(query[:4])


async def test_a_long_word_is_still_compared_whole() -> None:
    word = "a" * 1000
    assert (await _ask(_Store(f"I like {word}"), word)).memories
    assert not (await _ask(_Store(f"I like {word[1:]}"), word)).memories
