"""How well a memory answers a query: the points of the page."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.candidate import Candidate
from recall.memory import Memory, now
from recall.relevance import Query
from recall.retrieval import relevance
from recall.words import query_words
from tests.unit.language.growth import assert_linear


@pytest.mark.parametrize(
    ("content", "key", "metadata", "query", "points"),
    [
        ("I prefer dark mode", "preference:dark_mode", {}, "dark mode", 20 + 3 + 3 + 6 + 6),
        ("it deploys often", "k", {}, "deploy", 20 + 3),
        ("a deploy, and a deploy", "k", {}, "deploy", 20 + 3 + 3),
        ("nothing", "deploy", {}, "deploy", 20 + 6),
        ("nothing", "k", {"note": "deploy"}, "deploy", 20 + 3),
        ("support", "k", {}, "port", 0),
        ("the end", "k", {}, "the", 20),
        ("nothing", "k", {}, "", 0),
        ("nothing", "k", {}, "\x00", 0),
    ],
)
def test_points(content: str, key: str, metadata: dict[str, Any], query: str, points: int) -> None:
    fields = {"content": content, "key": key, "metadata": metadata}
    assert relevance(fields, query) == points
    assert relevance(SimpleNamespace(**fields), query) == points


_TEXT = st.text(alphabet="ab İΣß .-_<>é\n", max_size=12)
_ASKED = st.text(alphabet="ab İΣß .-_<>é\n\x00", max_size=12)


@given(st.lists(st.tuples(_TEXT, _TEXT, st.dictionaries(_TEXT, _TEXT, max_size=2))), _ASKED)
def test_many_memories_get_the_points_that_each_gets_alone(
    fields: list[tuple[str, str, dict[str, str]]], query: str
) -> None:
    candidates = [Candidate(_memory(content, key, metadata)) for content, key, metadata in fields]
    asked = Query(query)
    assert asked.scores(candidates) == [asked.scores([one])[0] for one in candidates]


@given(_TEXT, _TEXT, st.dictionaries(_TEXT, _TEXT, max_size=2), _ASKED)
def test_points_are_what_counting_one_by_one_gives(
    content: str, key: str, metadata: dict[str, str], query: str
) -> None:
    texts = [content.lower(), key.lower()]
    texts.append(json.dumps(metadata, ensure_ascii=False).lower() if metadata else "")
    whole = query.strip().lower()
    points = 20 * sum(_count(text, whole) > 0 for text in texts) if whole else 0
    for word in query_words(query):
        points += 6 * (_count(texts[1], word) > 0)
        points += 3 * (_count(texts[0], word) + _count(texts[2], word))
    assert relevance({"content": content, "key": key, "metadata": metadata}, query) == points


@pytest.mark.parametrize("piece", ["a", "a ", "xa ", "a-", "é"])
@pytest.mark.parametrize("begin", ["", "x"])
def test_a_long_query_takes_no_longer_than_its_length(piece: str, begin: str) -> None:
    def score(text: str) -> int:
        fields = {"content": begin + text, "key": "k", "metadata": {}}
        return relevance(fields, text[1 : len(text) // 2])

    assert_linear(score, piece)


def _count(text: str, wanted: str) -> int:
    """How often it stands there, from the start of a word if it begins with one."""
    return sum(
        text.startswith(wanted, at) and not (at and wanted[0].isalnum() and text[at - 1].isalnum())
        for at in range(len(text))
    )


def _memory(content: str, key: str, metadata: dict[str, Any]) -> Memory:
    moment = now()
    return Memory(
        id="",
        api_key_id="",
        key=key,
        content=content,
        metadata=metadata,
        created_at=moment,
        updated_at=moment,
    )
