"""The SVG badge."""

from xml.etree import ElementTree

import pytest

from harness.render.badge import to_badge
from harness.report import Outcome
from tests.unit.harness.reports import a_report, a_result

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ("pass", "conformant · full"),
        ("fail", "not conformant · full"),
        ("excluded", "partial · full"),
    ],
)
def test_it_says_the_verdict_and_the_profile(outcome: Outcome, message: str) -> None:
    root = ElementTree.fromstring(to_badge(a_report(a_result("a.a", outcome))))
    assert [text.text for text in root.iter(f"{SVG}text")] == ["memory plugin", message]
    assert root.attrib["aria-label"] == f"memory plugin: {message}"


def test_each_verdict_has_a_colour_of_its_own() -> None:
    outcomes: list[Outcome] = ["pass", "fail", "excluded"]
    reports = [a_report(a_result("a.a", outcome)) for outcome in outcomes]
    colours = [
        [box.get("fill") for box in ElementTree.fromstring(to_badge(report)).iter(f"{SVG}rect")][-1]
        for report in reports
    ]
    assert len(set(colours)) == 3


def test_the_text_fits_into_its_box() -> None:
    root = ElementTree.fromstring(to_badge(a_report(a_result("a.a", "fail"))))
    boxes = [float(box.attrib["width"]) for box in root.iter(f"{SVG}rect") if box.get("fill")]
    lengths = [float(text.attrib["textLength"]) for text in root.iter(f"{SVG}text")]
    assert all(length < box for length, box in zip(lengths, boxes, strict=True))
    assert sum(boxes) == float(root.attrib["width"])
