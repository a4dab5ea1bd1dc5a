"""Secrets are removed from a text, everything else stays: a table of both, and linear time."""

import base64
import random
import re
from collections.abc import Iterable
from uuid import UUID

import pytest

from language.redaction import redact
from tests.unit.language.growth import assert_linear
from tests.unit.language.phrases import lines, report

MARKED = re.compile(r"«([A-Z_]+):(.*?)»", re.DOTALL)


SECRETS = lines("secrets.txt")
NO_SECRETS = lines("no_secrets.txt")


def test_the_tables_are_large_enough() -> None:
    assert len({*SECRETS}) >= 150
    assert len({*NO_SECRETS}) >= 150


def assert_redacted(expected: Iterable[tuple[str, tuple[str, int]]]) -> None:
    """Each text becomes the one that is expected, with the expected number of secrets replaced."""
    wrong = [(text, it, redact(text)) for text, it in expected if redact(text) != it]
    assert not wrong, report(wrong)


def test_a_secret_is_replaced_and_nothing_else_is() -> None:
    assert_redacted(
        (
            MARKED.sub(r"\2", row),
            (MARKED.sub(r"[REDACTED:\1]", row), len(MARKED.findall(row))),
        )
        for row in SECRETS
    )


def test_what_is_not_a_secret_stays() -> None:
    assert_redacted((text, (text, 0)) for text in NO_SECRETS)


def test_redacting_again_changes_nothing() -> None:
    once = [redact(MARKED.sub(r"\2", row))[0] for row in SECRETS]
    assert_redacted((text, (text, 0)) for text in once)


def test_all_secrets_in_one_text_are_found() -> None:
    inside = [row for row in SECRETS if not row.endswith("BAQEFAASC»")]
    text = "\n\n".join(MARKED.sub(r"\2", row) for row in inside)
    expected = "\n\n".join(MARKED.sub(r"[REDACTED:\1]", row) for row in inside)
    assert redact(text)[0] == expected


@pytest.mark.parametrize("after", ["", "-", "_", "x", "Z", "7", ".", "*", "é", "。", "uk_", "eyJ"])
@pytest.mark.parametrize(
    "before", ["", "-", "_", "x", "K", "7", "é", "ghp_", "sk-", "disk-", "xoxb-", "uk_", "eyJ"]
)
def test_no_part_of_our_own_keys_stays_whatever_they_are_glued_to(before: str, after: str) -> None:
    made = random.Random(before + after)
    for prefix, size in [("uk_", 32), ("mr_", 30)] * 20:
        key = prefix + base64.urlsafe_b64encode(made.randbytes(size)).decode().rstrip("=")
        text, count = redact(f"kiwi {before}{key}{after} banana")
        assert count == 1
        assert not any(key[at : at + 6] in text for at in range(3, len(key) - 5))
        assert text.startswith("kiwi ")
        assert text.endswith(" banana")


def test_hashes_and_ids_stay() -> None:
    made = random.Random(1)
    for _ in range(5000):
        parts = [str(UUID(bytes=made.randbytes(16))), *(made.randbytes(n).hex() for n in (20, 32))]
        text = " ".join([*parts, base64.b64encode(made.randbytes(64)).decode()])
        assert redact(text) == (text, 0)


def test_a_password_on_the_next_line_is_found_after_any_line_end() -> None:
    text = "Password:\r\nZq8kTr2w\r\nThanks"
    assert redact(text) == ("Password:\r\n[REDACTED:PASSWORD]\r\nThanks", 1)


@pytest.mark.parametrize("white", [" ", "\n", "\t", "\u3000", " \n ", "   "])
@pytest.mark.parametrize("before", range(14))
def test_a_secret_is_found_wherever_it_stands_among_short_words(before: int, white: str) -> None:
    # Long words are looked for from space to space, and this one has no other sign of a secret.
    words = [*("a" * (before % 5 + 1) for _ in range(before)), "AKIAIOSFODNN7EXAMPLE", "yes", "it"]
    expected = white.join(words).replace("AKIAIOSFODNN7EXAMPLE", "[REDACTED:API_KEY]")
    assert redact(white.join(words)) == (expected, 1)


@pytest.mark.parametrize(
    "piece",
    [
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n",
        "password",
        "password=",
        'password="',
        "password: ",
        "password is ",
        "token ",
        "Bearer ",
        "Authorization: ",
        "a://b:",
        "://:",
        "@",
        "sk-",
        "sk-sk-",
        "eyJ",
        "eyJaaaaa.",
        "SG.aaaaaaaaaaaaaaaaaa.",
        "a",
        "A1_",
        "_secret",
        "-u ",
        " ",
        "'\"",
        "secret=\\",
        "uk_",
        "uk_a-",
        "eyJa.",
        "AKIA",
        "Aaa-",
        "aA-1",
        "a://b:c/",
        "pass=",
        "pass=_1_",
        "password:\n",
        "password: a1,",
        "password: a1 &3 ",
        "password: abc ",
        'password: "a ',
        "</password>",
        "token = await ",
        "token=a.b.c.",
        "a-b_token=abc ",
        "</<password a",
    ],
)
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    assert_linear(redact, piece)
