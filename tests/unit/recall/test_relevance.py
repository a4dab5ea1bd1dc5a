"""How well a memory answers a query: the points of the page."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.candidate import Candidate
from recall.memory import Memory, now
from recall.relevance import Query
from recall.retrieval import relevance


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
