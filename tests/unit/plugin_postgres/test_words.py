"""Search by words: which of them are looked up."""

from typing import Any

import pytest

from contract import SearchRequest
from plugin_postgres import sql
from plugin_postgres.question import Reading, understand
from plugin_postgres.words import WordSearch

pytestmark = pytest.mark.anyio

WORDS = ["alpha", "bravo", "charlie"]
OF_CLUE = 13  # the place of $14 of search_found.sql


async def test_embeddings_that_fill_the_answer_do_not_keep_words_from_being_looked_up() -> None:
    asked: list[tuple[Any, ...]] = []

    async def fetch(statement: str, *arguments: Any) -> list[Any]:
        if statement == sql.load("sample_terms"):
            return [{"taken": 64, "stored": 800, "seen": seen} for seen in (2, 3, 4)]
        asked.append(arguments)
        return [()] * 10

    request = SearchRequest(
        namespaces=[f"custom:{n}" for n in range(100)], query=" ".join(WORDS), limit=10
    )
    reading = Reading(" ".join(WORDS), WORDS, WORDS, {word: word for word in WORDS}, None, [])
    await WordSearch(fetch, request, understand(reading), [1.0, 0.0]).rows()
    [arguments] = asked
    assert set(arguments[OF_CLUE]) == {1, 2, 3}
