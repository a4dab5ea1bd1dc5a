"""Token estimates: a quarter per character, but one for characters that stand for more."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.tokens import estimate_tokens


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_is_a_quarter_per_character_rounded_up(text: str) -> None:
    assert estimate_tokens(text) == math.ceil(len(text) / 4)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("four", 1),
        ("fives", 2),
        ("Grüße", 2),
        ("привет", 2),
        ("你好", 2),
        ("你好世界", 4),
        ("こんにちは", 5),
        ("カタカナ", 4),
        ("สวัสดี", 6),
        ("안녕하세요", 5),
        ("𠮷野家", 3),
        ("🎉", 1),
        ("🎉🎉🎉", 3),
        ("☀", 1),
        ("I like 寿司", 4),
        ("abcd你", 2),
        ("abcde你", 3),
    ],
)
def test_a_character_of_a_script_without_spaces_a_syllable_or_an_emoji_counts_one(
    text: str, tokens: int
) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_a_longer_text_never_takes_fewer(text: str, more: str) -> None:
    both = estimate_tokens(text + more)
    assert max(estimate_tokens(text), estimate_tokens(more)) <= both
    assert both <= estimate_tokens(text) + estimate_tokens(more)
