"""Facts from texts: the table of phrases, keys, contents, limits, and how the time grows."""

import hashlib
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.facts import Fact, Speaker, extract_facts_from_text
from tests.unit.language.growth import assert_linear
from tests.unit.language.phrases import Phrase, read, report

PHRASES = read("phrases.txt")


@cache
def found(phrase: Phrase) -> set[tuple[str, str, str]]:
    facts = extract_facts_from_text(phrase.text, phrase.speaker)
    return {(it.polarity, it.key, it.content) for it in facts}


def precision_and_recall(phrases: list[Phrase]) -> tuple[float, float]:
    right = sum(len(found(it) & it.facts) for it in phrases)
    given_ = sum(len(found(it)) for it in phrases)
    wanted = sum(len(it.facts) for it in phrases)
    return right / given_, right / wanted


def only(text: str, speaker: Speaker = "user") -> Fact:
    (fact,) = extract_facts_from_text(text, speaker)
    return fact


def test_the_table_is_large_enough() -> None:
    assert len({(it.text, it.speaker) for it in PHRASES}) >= 400
    assert len({it.situation for it in PHRASES}) >= 12


def test_precision_and_recall_on_the_table() -> None:
    precision, recall = precision_and_recall(PHRASES)
    assert precision >= 0.98
    assert recall >= 0.9


@pytest.mark.parametrize("situation", dict.fromkeys(it.situation for it in PHRASES))
def test_every_phrase_gives_its_facts(situation: str) -> None:
    phrases = [it for it in PHRASES if it.situation == situation]
    wrong = [(it, set(it.facts), found(it)) for it in phrases if found(it) != it.facts]
    assert not wrong, report(wrong)


@pytest.mark.parametrize(
    ("text", "category", "type_"),
    [
        ("I prefer dark mode", "preference", "factual"),
        ("I chose Rust", "decision", "episodic"),
        ("I usually work late", "pattern", "factual"),
    ],
)
def test_the_category_gives_the_type(text: str, category: str, type_: str) -> None:
    fact = only(text)
    assert (fact.category, fact.type, fact.speaker) == (category, type_, "user")
    assert fact.key.startswith(f"{category}:")


def test_an_assistant_report_names_its_speaker() -> None:
    assert only("You prefer dark mode.", "assistant").speaker == "assistant"


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("I prefer Dark  Mode!", "dark_mode"),
        ("I like naïve café culture", "naïve_café_culture"),
        ("I like Борщ", "борщ"),
        ("I love 寿司屋", "寿司屋"),
        ("I like C++ templates", "c_templates"),
        ("I prefer __init__.py files", "init_py_files"),
        ("I like हिन्दी films", "हिन्दी_films"),
    ],
)
def test_a_key_keeps_letters_and_digits_of_any_script(text: str, slug: str) -> None:
    assert only(text).key == f"preference:{slug}"


def test_a_slug_of_more_than_40_characters_ends_in_its_hash() -> None:
    words = "a very long description of what it is"
    slug = words.replace(" ", "_") + "_x"
    assert len(slug) == 39
    assert only(f"I prefer {words} x").key == f"preference:{slug}"
    longer = slug + "yz"
    digest = hashlib.sha256(longer.encode()).hexdigest()[:8]
    key = only(f"I prefer {words} xyz").key
    assert key == f"preference:{longer[:31]}_{digest}"
    assert len(key) == len("preference:") + 40


def test_a_long_favorite_is_hashed_as_a_whole() -> None:
    slug = "favorite_way_to_spend_a_rainy_sunday_afternoon"
    digest = hashlib.sha256(slug.encode()).hexdigest()[:8]
    text = "My favorite way to spend a rainy sunday afternoon is reading"
    assert only(text).key == f"preference:{slug[:31]}_{digest}"


def test_a_new_stance_replaces_the_old_one() -> None:
    assert only("I like Python").key == only("I don't like Python").key
    assert only("I will use Rust").key == only("I will not use Rust").key
    assert only("I usually cook").key == only("I never cook").key


@pytest.mark.parametrize(("length", "facts"), [(2, 0), (3, 1), (500, 1), (501, 0)])
def test_an_object_has_3_to_500_characters(length: int, facts: int) -> None:
    assert len(extract_facts_from_text("I prefer " + "x" * length)) == facts


def test_a_content_has_at_most_500_characters() -> None:
    assert len(only("I really prefer " + "x" * 500).content) == 500


def test_white_space_is_collapsed() -> None:
    assert only("I  prefer\t dark \u00a0 mode ").content == "I prefer dark mode"


def test_the_last_64_ki_characters_count() -> None:
    filler = "Nothing to see here. " * 4000
    assert extract_facts_from_text("I prefer tea. " + filler) == []
    assert only(filler + "I prefer tea.").key == "preference:tea"
    assert only("x " * 50_000 + "I prefer tea.").key == "preference:tea"
    assert only("x" * 100_000 + " I prefer tea.").key == "preference:tea"


def test_at_most_50_facts_the_last_ones() -> None:
    facts = extract_facts_from_text("\n".join(f"I like dish{number}" for number in range(80)))
    assert [it.key for it in facts] == [f"preference:dish{number}" for number in range(30, 80)]


def test_secrets_are_redacted() -> None:
    fact = only("I always log in with password: hunter2 from home")
    assert fact.content == "I always log in with password: [REDACTED:PASSWORD] from home"
    assert "hunter2" not in repr(fact)


@pytest.mark.parametrize(
    "secret",
    [
        "sk-abcdefghijklmnopqrstuvwxyz123456",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "token=abc123def",
    ],
)
def test_an_object_that_was_only_a_secret_is_not_a_fact(secret: str) -> None:
    assert extract_facts_from_text(f"I prefer {secret}") == []
    assert extract_facts_from_text(f"I'll use {secret}.") == []


@pytest.mark.parametrize("broken", ["\x00", "\ud800", "\ud83c\x00"])
def test_what_no_store_takes_is_not_part_of_a_fact(broken: str) -> None:
    facts = extract_facts_from_text(
        f"I love{broken} green{broken}tea{broken}. I hate rain.{broken}"
    )
    facts += extract_facts_from_text(f"You prefer tea{broken}.", "assistant")
    assert [it.content for it in facts] == ["I love green tea", "I hate rain", "I prefer tea"]
    for fact in facts:
        f"{fact.key} {fact.content}".encode()


def test_the_same_text_gives_the_same_facts() -> None:
    text = "\n".join(it.text for it in PHRASES if it.speaker == "user")
    assert extract_facts_from_text(text) == extract_facts_from_text(text)


PIECES = [it.text for it in PHRASES] + [
    '"',
    "`",
    "```",
    ">",
    "\x00",
    "\ud800",
    "(",
    "I ",
    "you ",
    "\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from(["", " ", ". ", ", "]))
def test_no_mixture_of_phrases_raises(pieces: list[str], between: str) -> None:
    for speaker in ("user", "assistant"):
        for fact in extract_facts_from_text(between.join(pieces), speaker):
            assert 0 < len(fact.content) <= 500
            assert "\x00" not in f"{fact.key} {fact.content}".encode().decode()
            assert len(fact.key) <= len("preference:") + 40


@pytest.mark.parametrize("value", [None, 1, b"I like tea.", ["I like tea."]])
def test_what_is_not_a_text_states_nothing(value: Any) -> None:
    assert extract_facts_from_text(value) == []


@given(st.text())
def test_no_text_raises(text: str) -> None:
    extract_facts_from_text(text)
    extract_facts_from_text(f"I prefer {text}")
    extract_facts_from_text(f"You prefer {text}", "assistant")


HOSTILE = [
    "I like ",
    "I like a, ",
    "I like a, b and ",
    "I like a, not ",
    "if I like ",
    "I like e.g. ",
    "I like (",
    "I don't think ",
    "I told you that ",
    "I will use x if ",
    "I like tea and hate ",
    "I really really ",
    "I like a and my a a ",
    "I like a。",
    "I think a is my favorite ",
    "I rarely tend to ",
    "I don't really really ",
    "I like nothing ",
    "Usually I ",
    "my favorite ",
    "my favorite x is ",
    "x is my favorite ",
    "you said you like ",
    "Since you ",
    "Translate: I like x\n",
    "Alice: ",
    '"',
    "'a ",
    "“",
    "`I ",
    "```",
    "> ",
    "\n\n    ",
    "**",
    "_a_ ",
    "I prefer x. ",
    ", ",
    "I",
    "’",
    # Sentences that run on, mails, chats and comments.
    "i love a i never ",
    "i usually a it is ",
    "i prefer a the b my c is ",
    "i like a how do i ",
    "my favorite band's ",
    "From: a\nTo: ",
    "----- Forwarded message ",
    "# I like a\n",
    "# a\nimport ",
    "[10:32] ben: ",
    "10:32 - - ",
    "let's say i ",
    "suppose i ",
    "I chose 'a' but it ",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    speaker: Speaker = "assistant" if "you" in piece else "user"
    assert_linear(lambda text: extract_facts_from_text(text, speaker), piece)
