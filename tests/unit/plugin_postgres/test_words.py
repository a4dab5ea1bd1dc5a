"""Search by words: which of them are looked up."""

from typing import Any

import pytest

from contract import SearchRequest
from plugin_postgres import sql
from plugin_postgres.commonness import Commonness
from plugin_postgres.lexicon import Lexicon
from plugin_postgres.question import Reading, understand
from plugin_postgres.words import WordSearch

pytestmark = pytest.mark.anyio

WORDS = ["alpha", "bravo", "charlie"]
OF_CLUE = 15  # the place of $16 of search_found.sql


def looked_up(arguments: tuple[Any, ...]) -> set[int]:
    return {int(clue) for clue in arguments[OF_CLUE].strip("{}").split(",")}


async def test_embeddings_that_fill_the_answer_do_not_keep_words_from_being_looked_up() -> None:
    asked: list[tuple[Any, ...]] = []

    async def fetch(statement: str, *arguments: Any) -> list[Any]:
        if statement == sql.load("sample_words"):
            texts = ["alpha bravo charlie"] * 2 + ["bravo charlie", "charlie"]
            return [(800, False, texts + ["x"] * 60), *[(0, False, [])] * (len(arguments[0]) - 1)]
        asked.append(arguments)
        return [()] * 10

    request = SearchRequest(
        namespaces=[f"custom:{n}" for n in range(100)], query=" ".join(WORDS), limit=10
    )
    reading = Reading(" ".join(WORDS), WORDS, WORDS, {word: word for word in WORDS}, None, [])
    question = understand(reading)
    await WordSearch(fetch, Lexicon(), Commonness(), request, question, [1.0, 0.0]).rows()
    [arguments] = asked
    assert looked_up(arguments) == {1, 2, 3}


class Store:
    """Answers each sample with the next of some, and each search with nothing or with all."""

    def __init__(self, *common: list[str], found: int) -> None:
        self._common = list(common)
        self._found = found
        self.looked_up: list[set[int]] = []
        self.samples = 0

    async def fetch(self, statement: str, *arguments: Any) -> list[Any]:
        if statement == sql.load("sample_words"):
            self.samples += 1
            # A pinned memory, because only the general statement names the clues it looks up.
            return [(1600, True, [" ".join(self._common.pop(0))] * 40 + ["x"] * 8)]
        if statement != sql.load("search_text"):
            return []
        self.looked_up.append(looked_up(arguments))
        return [(None, None, "")] * self._found

    async def search(self, commonness: Commonness) -> None:
        words = [*WORDS, "delta", "echo"]
        reading = Reading(" ".join(words) + ".", words, words, {it: it for it in words}, None, [])
        request = SearchRequest(namespaces=["custom:a"], query="x", limit=10)
        question = understand(reading)
        await WordSearch(self.fetch, Lexicon(), commonness, request, question).rows()


async def test_a_filter_is_asked_for_once() -> None:
    asked: list[tuple[Any, ...]] = []

    async def fetch(_statement: str, *arguments: Any) -> list[Any]:
        asked.append(arguments)
        return [(f" & filter {len(asked)}",)]

    lexicon = Lexicon()
    wheres = ['{"a":1}', '{"a":true}', '{"a":1}', None]
    added = [await lexicon.filter(fetch, ["summary"], where) for where in wheres]
    assert added == [" & filter 1", " & filter 2", " & filter 1", " & filter 3"]
    assert await lexicon.filter(fetch, None, '{"a":1}') == " & filter 4"
    assert await lexicon.filter(fetch, None, None) == ""
    assert len(asked) == 4


async def test_a_word_that_most_memories_have_is_not_looked_up() -> None:
    store = Store(["alpha"], found=10)
    await store.search(Commonness())
    assert store.looked_up == [{2, 3, 4, 5}]


async def test_a_sample_serves_the_searches_of_the_next_seconds() -> None:
    store, commonness = Store(["alpha"], found=10), Commonness()
    await store.search(commonness)
    await store.search(commonness)
    assert (store.samples, store.looked_up) == (1, [{2, 3, 4, 5}] * 2)


async def test_an_old_sample_is_not_used() -> None:
    store, commonness = Store(["alpha"], ["bravo"], found=10), Commonness(kept_seconds=0)
    await store.search(commonness)
    await store.search(commonness)
    assert store.looked_up == [{2, 3, 4, 5}, {1, 3, 4, 5}]


async def test_a_search_that_finds_little_does_not_rely_on_an_earlier_sample() -> None:
    store, commonness = Store(["alpha"], ["bravo"], found=3), Commonness()
    await store.search(commonness)
    await store.search(commonness)
    assert store.looked_up == [{2, 3, 4, 5}, {2, 3, 4, 5}, {1, 3, 4, 5}]


async def test_a_search_that_looks_up_all_words_takes_no_other_sample() -> None:
    store, commonness = Store(["zulu"], found=3), Commonness()
    await store.search(commonness)
    await store.search(commonness)
    assert (store.samples, store.looked_up) == (1, [{1, 2, 3, 4, 5}] * 2)


async def test_a_deleted_namespace_leaves_no_sample() -> None:
    store, commonness = Store(["alpha"], ["bravo"], found=10), Commonness()
    await store.search(commonness)
    commonness.forget()
    await store.search(commonness)
    assert store.looked_up == [{2, 3, 4, 5}, {1, 3, 4, 5}]


async def test_a_sample_of_nine_namespaces_is_not_that_of_seventeen() -> None:
    async def fetch(_statement: str, names: Any, *_size: int) -> list[Any]:
        return [(100, False, ["x"] * 4)] * len(names)

    commonness = Commonness()
    many = [f"custom:{n}" for n in range(17)]
    await commonness.sample(fetch, many)
    assert commonness.kept(many) is not None
    assert commonness.kept(many[::2]) is None
