"""Elements are safe whatever they contain."""

from xml.etree import ElementTree

import pytest

from harness.render.markup import element, printable
from tests.unit.harness.reports import HOSTILE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with tab\tand line\n", "plain, with tab\tand line\n"),
        ("日本語 é 🙂", "日本語 é 🙂"),
        ("\x00\x1b[31m", r"\u0000\u001b[31m"),
        ("\u202efdp.exe", r"\u202efdp.exe"),
        ("\ud800", r"\ud800"),
        ("\r\n", "\\u000d\n"),
    ],
)
def test_what_cannot_be_shown_becomes_an_escape_that_json_reads(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_any_text_survives_as_text() -> None:
    made = element("p", {"title": HOSTILE}, HOSTILE, element("b", {}, HOSTILE), HOSTILE)
    read = ElementTree.fromstring(ElementTree.tostring(made, encoding="unicode"))
    assert read.attrib == {"title": printable(HOSTILE)}
    assert read.text == read[0].text == read[0].tail == printable(HOSTILE)
    assert [child.tag for child in read] == ["b"]


def test_strings_and_elements_keep_their_order() -> None:
    made = element("p", {}, "one ", "two ", element("b", {}, "three"), " four", [element("i", {})])
    assert ElementTree.tostring(made, encoding="unicode") == "<p>one two <b>three</b> four<i /></p>"
