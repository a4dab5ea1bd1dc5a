"""Sentence and paragraph borders, and cutting a long text into parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.sentences import first_sentences, split_sentences, split_text
from tests.unit.language.growth import assert_linear


@pytest.mark.parametrize(
    "marked",
    [
        "One.| Two!| Three?",
        "We run Node.js on 3.11 today.| It works.",
        "Use a linter, e.g. ruff, for that.| Then commit.",
        "That is, i.e. Python, fine.| Yes.",
        "Dr. Smith met Mrs. Jones.| They spoke.",
        "Apples, pears, etc. are fruit.| Nice.",
        "We have apples, pears, etc.| Then we left.",
        "It starts at 9 a.m. on Monday.| Be there.",
        "See fig. 3 and no. 7 for that.| Good.",
        "No.| I said no.",
        "George R. R. Martin wrote it.| It is long.",
        "I take vitamin C.| It helps.",
        'He said "Stop."| Then he left.',
        "(It was late.)| We went home.",
        "Really?!| Yes...| No",
        "Well... maybe later.| Fine.",
        "Wait…| Now.",
        "first line|\nsecond line|\n\nthird",
        "a title|\r\nthe text.| More.",
        "1. Buy milk.| 2. Sleep.",
        "我喜欢你。|他也是！|真的吗？",
        "open app.py and main.rs now.| Done.",
        "no end",
        "v1.2.3 is out.| Get it.",
        "The U.S. Army and the U.K. Parliament met in the U.S.| They spoke.",
        "Acme Inc. Berlin is here.| Yes.",
        "...",
    ],
)
def test_sentences_end_where_a_reader_sees_the_end(marked: str) -> None:
    assert split_sentences(marked.replace("|", "")) == [it.strip() for it in marked.split("|")]


@pytest.mark.parametrize("text", ["", " ", "\n\n", " \t\r\n "])
def test_a_blank_text_has_no_sentence_and_no_part(text: str) -> None:
    assert split_sentences(text) == []
    assert split_text(text, 10) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two. Three. Four.", "One. Two. Three."),
        ("One. Two. Three.", "One. Two. Three."),
        (" One.  Two.\n\nThree!  Four. ", " One.  Two.\n\nThree!"),
        ("a\nb\nc\nd", "a\nb\nc"),
        ("only one ", "only one "),
        ("", ""),
    ],
)
def test_the_first_three_sentences_are_verbatim(text: str, expected: str) -> None:
    assert first_sentences(text, 3) == expected


def test_a_part_ends_with_a_paragraph_when_that_fills_half_of_it() -> None:
    first, second = "a b. " * 15, "c d. " * 15
    assert split_text(f"{first.strip()}\n\n{second.strip()}", 100) == [
        first.strip(),
        second.strip(),
    ]


def test_a_part_ends_with_a_sentence_before_it_ends_between_words() -> None:
    assert split_text("One two three. Four five six. Seven", 30) == [
        "One two three. Four five six.",
        "Seven",
    ]
    assert split_text("one two three four", 10) == ["one two", "three four"]
    assert split_text("abcdefghij", 4) == ["abcd", "efgh", "ij"]


@pytest.mark.parametrize(
    "character",
    [
        "e\u0301",
        "👨‍👩‍👧",
        "👍🏽",
        "🇩🇪",
        "नि",
        "\u1112\u1161\u11ab",
        "☀️",
        "🏴\U000e0067\U000e0062\U000e007f",
    ],
)
def test_no_part_ends_inside_a_character(character: str) -> None:
    limit = 4 * len(character) + 1
    parts = split_text(character * 40, limit)
    assert "".join(parts) == character * 40
    for part in parts:
        assert len(part) <= limit
        assert part == character * (len(part) // len(character))


def test_more_marks_than_fit_into_a_part_are_still_split() -> None:
    text = "e" + "\u0301" * 500
    assert "".join(split_text(text, 100)) == text


@given(st.text(alphabet=st.sampled_from("ab .!?\n\u0301é🇩e.g"), max_size=200), st.integers(1, 40))
def test_parts_fit_and_lose_nothing_but_white_space(text: str, limit: int) -> None:
    parts = split_text(text, limit)
    assert all(it.strip() == it and 0 < len(it) <= limit for it in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@given(st.text(alphabet=st.sampled_from("ab .!?\n\u0301é'\"e.g。"), max_size=200))
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())
    assert text.startswith(first_sentences(text, 2))


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        split_text("a", 0)


@pytest.mark.parametrize(
    "piece",
    [".", ". ", "e.g. ", "1. ", "a", " ", "\n", "a\n\n", '."', "? ", "\u0301", "…", "A. ", "🇩"],
)
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    assert_linear(split_sentences, piece)
    assert_linear(lambda text: split_text(text, 2000), piece)
