"""Ruling 16: how messages become the texts of memories."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.turns import LONGEST, Message, turns

AT = datetime(2026, 1, 1, tzinfo=UTC)


def said(*messages: tuple[str, str]) -> list[list[str]]:
    return [it.texts() for it in turns(Message(role, role, AT, text) for role, text in messages)]


@pytest.mark.parametrize(
    ("messages", "texts"),
    [
        ([], []),
        ([("user", "a")], [["User: a"]]),
        ([("assistant", "a")], [["Assistant: a"]]),
        ([("user", "a"), ("user", "b"), ("assistant", "c")], [["User: a\nUser: b\nAssistant: c"]]),
        (
            [("user", "a"), ("assistant", "b"), ("user", "c")],
            [["User: a\nAssistant: b"], ["User: c"]],
        ),
        ([("user", "a"), ("tool", "x"), ("assistant", "b")], [["User: a\nAssistant: b"]]),
        ([("tool", "x"), ("user", " ")], []),
    ],
)
def test_ruling_16_a_turn_is_a_run_of_questions_with_its_answers(
    messages: list[tuple[str, str]], texts: list[list[str]]
) -> None:
    assert said(*messages) == texts


@given(st.text(min_size=1, max_size=9000))
def test_ruling_16_no_part_is_too_long_and_no_word_is_lost(text: str) -> None:
    for parts in said(("user", text)):
        assert all(0 < len(part) <= LONGEST for part in parts)
        assert "".join("".join(parts).split()) == "".join(f"User: {text.strip()}".split())


def test_ruling_16_an_emoji_is_not_cut() -> None:
    family = "👨‍👩‍👧"
    [parts] = said(("user", family * 1000))
    assert all(part.removeprefix("User: ").replace(family, "") == "" for part in parts)
