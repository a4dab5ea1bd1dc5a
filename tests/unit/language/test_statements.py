"""Sentences about the speaker: whole, in their own words, and only where they are meant."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.page import MAX_TEXT
from language.statements import find_statements
from tests.unit.language.growth import assert_linear
from tests.unit.language.phrases import lines, read, report

KEPT = [
    "My name is Anna.",
    "my name's Bob",
    "I'm Anna.",
    "I am Anna Schmidt and I live in Graz.",
    "Call me Ishmael.",
    "Please call me Ishmael.",
    "You can call me Al.",
    "I prefer dark mode.",
    "I don't like Python.",
    "I hate olives!",
    "My favorite color is blue.",
    "I live in Berlin.",
    "I'm from Lisbon.",
    "We live near the sea.",
    "I’m based in Vienna.",
    "I recently moved to Porto.",
    "I work at Acme.",
    "I work for the city of Bonn.",
    "I work as a nurse.",
    "I'm a software engineer.",
    "I am a teacher in Graz.",
    "I work remotely.",
    "My job is teaching maths.",
    "I'm allergic to peanuts.",
    "I'm severely allergic to bees.",
    "I can't eat gluten.",
    "I cannot have dairy.",
    "I am vegan.",
    "I'm lactose intolerant.",
    "I have a nut allergy.",
    "I don't eat meat.",
    "I never drink.",
    "I'm not allowed to eat sugar.",
    "Remember that the door code changes on Mondays.",
    "Please remember that my sister is called Eva.",
    "Remember: the demo is on Friday.",
    "Don't forget that we use metric units.",
    "Keep in mind that the budget is small.",
    "I decided to learn Japanese.",
    "We chose Postgres for the backend.",
    "I'm going with Hetzner.",
    "I will not use MongoDB.",
    "As I told you, I live in Berlin.",
    "I don't like Java, but I love Kotlin.",
]
DROPPED = [
    "",
    "Where do I live?",
    "Do I like olives?",
    "What is my name?",
    "Is my name Anna?",
    "I live in Berlin?",
    "Do you remember that I live in Berlin?",
    "If I live in Berlin, I pay taxes.",
    "Maybe I'm allergic to nuts.",
    "My friend says I live in a dream.",
    '"My name is Anna" is a sentence.',
    "> I live in Berlin",
    "```\nI live in Berlin\n```",
    "`I live in Berlin`",
    "Translate: I live in Berlin.",
    "Anna: I live in Berlin.",
    "The robot says: my name is Bender.",
    "I used to live in Berlin.",
    "I'm sorry.",
    "I'm not sure.",
    "I'm a bit tired.",
    "I'm Sorry.",
    "I remember that day.",
    "He lives in Berlin.",
    "Call me later.",
    "I like it.",
    "I'd like a coffee.",
    "Remember that.",
    "Remember to buy milk.",
    "I can't use it.",
    "I work on it.",
    "The weather is nice today.",
    "Imagine I work at NASA.",
    "I liked Berlin.",
    "I usually work at night.",
]


def assert_found(expected: Iterable[tuple[str, list[str]]]) -> None:
    """In each text exactly these statements are found."""
    found = [(text, it, find_statements(text)) for text, it in expected]
    wrong = [row for row in found if row[1] != row[2]]
    assert not wrong, report(wrong)


def test_a_statement_is_kept_as_it_was_written() -> None:
    assert_found((sentence, [sentence]) for sentence in [*KEPT, *lines("statements.txt")])


def test_what_is_not_said_about_oneself_is_dropped() -> None:
    assert_found((text, []) for text in [*DROPPED, *lines("no_statements.txt")])


def test_whole_sentences_are_kept_in_order_and_once() -> None:
    text = "Hi! My name is Anna. What do you think?\n- I live in Graz.\nI live in Graz. Nice day."
    assert find_statements(text) == ["My name is Anna.", "I live in Graz."]


def test_negations_stay() -> None:
    assert find_statements("I really do not like Java, and I never will.") == [
        "I really do not like Java, and I never will."
    ]


@pytest.mark.parametrize(
    "start",
    [
        "I prefer tea, although",
        "I live in Berlin, although",
        "I chose Postgres, although",
        "Remember that",
        "Decision:",
        "I don't live in Bonn,",
    ],
)
def test_a_sentence_has_at_most_300_characters(start: str) -> None:
    whole = start + " " + "x" * (299 - len(start))
    assert len(whole) == 300
    assert find_statements(whole) == [whole]
    assert find_statements(whole + "x") == []


def test_of_a_longer_sentence_nothing_is_kept() -> None:
    assert not find_statements(
        "I am allergic to nuts, or so my doctor believed, which we talked about at length for"
        + " many years and in several languages" * 6
        + ", but the tests showed that I am not."
    )
    assert find_statements("I prefer tea, although " + "there is more to say " * 20) == []
    assert find_statements("I live in Berlin, although " + "it is loud " * 40) == []
    assert find_statements("I prefer " + "a" * 292) == []


def test_white_space_does_not_count() -> None:
    assert find_statements("I live in   \t" + " " * 300 + "Berlin.") == ["I live in Berlin."]


def test_a_sentence_whose_start_was_not_read_is_dropped() -> None:
    sentence = "It is false that I live in Bonn."
    rest = "Hm. " * 16_000 + "I live in Graz."
    for seen in range(0, len(sentence) + 1, 4):
        text = sentence + " " * (MAX_TEXT - len(rest) - seen) + rest
        assert find_statements(text) == ["I live in Graz."]


@pytest.mark.parametrize("broken", ["\x00", "\ud800"])
def test_what_no_store_takes_is_not_part_of_a_statement(broken: str) -> None:
    assert find_statements(f"I live in{broken} Bonn.{broken}") == ["I live in Bonn."]


def test_secrets_are_redacted() -> None:
    assert find_statements("Remember that my password is hunter2.") == [
        "Remember that my password is [REDACTED:PASSWORD]."
    ]


def test_preferences_and_decisions_of_the_table_are_kept_and_nothing_else() -> None:
    for phrase in read("phrases.txt"):
        keys = {key for _, key, _ in phrase.facts}
        if phrase.speaker == "user" and "\n" not in phrase.text and "?" not in phrase.text:
            kept = bool(find_statements(phrase.text))
            if keys and not all(key.startswith("pattern:") for key in keys):
                assert kept, phrase.text


@given(st.text())
def test_no_text_raises(text: str) -> None:
    for it in find_statements(f"{text} I live in {text}"):
        assert 0 < len(it) <= 300


@pytest.mark.parametrize(
    "piece",
    [
        "I live in ",
        "I work at a, ",
        "remember ",
        "my name is ",
        "I'm ",
        "I am a a a ",
        "I'm A. ",
        "please ",
        "my dog's name is ",
        "we have a a dog called ",
        "let's use A ",
        "I don't live in a ",
        "I have a a a ",
        "I'm a and ",
        "I study a a ",
        "my favorite a isn't ",
        "I can't have a a a ",
        "Decision: ",
    ],
)
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    assert_linear(find_statements, piece)
