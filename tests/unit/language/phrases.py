"""The tables in this folder: sentences and the facts in them, and texts line by line.

A test checks many of them and reports all that are wrong: with one test for each, collecting the
tests would take longer than running them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from language.facts import Speaker

# polarity, key, content
Expected = tuple[str, str, str]


@dataclass(frozen=True)
class Phrase:
    situation: str
    text: str
    speaker: Speaker
    facts: frozenset[Expected]

    def __str__(self) -> str:
        return self.text.encode("unicode_escape").decode()


def report(wrong: Iterable[tuple[object, object, object]]) -> str:
    """A text for each line that is wrong: the line, what it should give and what it gives."""
    return "\n".join(f"{line}\n  expected {it}\n  got      {got}" for line, it, got in wrong)


def lines(name: str) -> list[str]:
    """The texts of a table that has one in each line."""
    rows = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return [
        row.replace("\\\\n", "\0").replace("\\n", "\n").replace("\0", "\\n")
        for row in rows
        if row[:1] != "#"
    ]


def read(name: str) -> list[Phrase]:
    phrases, situation = [], ""
    for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            situation = line[3:]
        elif line and not line.startswith("# "):
            phrases.append(_phrase(situation, line))
    return phrases


def _phrase(situation: str, line: str) -> Phrase:
    text, arrow, expected = line.partition(" =>")
    assert arrow, f"no => in {line!r}"
    speaker: Speaker = "user"
    if text.startswith("A: "):
        text, speaker = text[3:], "assistant"
    text = text.replace("\\n", "\n")
    facts = [_fact(text, it) for it in expected.split(" ;; ") if it.strip()]
    return Phrase(situation, text, speaker, frozenset(facts))


def _fact(text: str, expected: str) -> Expected:
    head, _, content = expected.strip().partition(" | ")
    polarity = {"+": "positive", "-": "negative"}[head[0]]
    return polarity, head[1:].strip(), content.strip() or text.strip().rstrip(".!")
