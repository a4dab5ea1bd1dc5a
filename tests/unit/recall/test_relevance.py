"""How well a memory answers a query: the points of the page."""

from types import SimpleNamespace
from typing import Any

import pytest

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
    ],
)
def test_points(content: str, key: str, metadata: dict[str, Any], query: str, points: int) -> None:
    fields = {"content": content, "key": key, "metadata": metadata}
    assert relevance(fields, query) == points
    assert relevance(SimpleNamespace(**fields), query) == points
