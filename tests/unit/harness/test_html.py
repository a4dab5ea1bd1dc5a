"""The HTML page as a file; how it behaves is tested in a browser, under acceptance."""

import base64
import json
import re
from hashlib import sha256
from html.parser import HTMLParser

from harness.render.html import to_html
from harness.report import Report
from tests.unit.harness.reports import HOSTILE, a_hostile_report, a_report, a_result


class Reader(HTMLParser):
    """The elements of a page in order, and the text of each script and style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            self.raw.append(data)
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def checks(report: Report) -> list[str | None]:
    details = Reader(to_html(report)).all("details")
    return [one["id"] for one in details if "check" in (one["class"] or "").split()]


def test_what_needs_attention_comes_first_and_is_open() -> None:
    report = a_report(
        a_result("a.pass", "pass"),
        a_result("b.unsupported", "unsupported"),
        a_result("c.warn", "warn"),
        a_result("d.error", "error"),
        a_result("e.excluded", "excluded"),
        a_result("f.fail", "fail"),
    )
    order = ["f.fail", "d.error", "c.warn", "e.excluded", "b.unsupported", "a.pass"]
    assert checks(report) == order
    opened = [one.get("id") for one in Reader(to_html(report)).all("details") if "open" in one]
    assert opened == ["f.fail", "d.error"]


def test_the_page_identifies_the_run() -> None:
    text = Reader(to_html(a_report(a_result("a.a", "pass")))).text
    for fact in (
        "Conformant",
        "profile full",
        "http://localhost:9100",
        "0" * 64,
        "1.5 s",
        "--seed 1",
    ):
        assert fact in text


def test_the_policy_allows_the_two_parts_of_the_page_and_nothing_else() -> None:
    reader = Reader(to_html(a_hostile_report()))
    policy = next(one for one in reader.all("meta") if "http-equiv" in one)["content"] or ""
    hashes = [
        f"'sha256-{base64.b64encode(sha256(part.encode()).digest()).decode()}'"
        for part in reader.raw
    ]
    assert len(hashes) == 2
    assert policy.startswith("default-src 'none'; ")
    assert sorted(re.findall(r"'sha256-[^']+'", policy)) == sorted(hashes)
    assert "unsafe" not in policy
    assert not [one for _, one in reader.elements if "style" in one]


def test_the_page_points_to_nothing_outside_itself() -> None:
    reader = Reader(to_html(a_hostile_report()))
    addresses = [
        value
        for _, attributes in reader.elements
        for name, value in attributes.items()
        if name in ("href", "src", "action", "data", "poster", "srcset")
    ]
    assert addresses
    assert all(address and address.startswith(("#", "data:,")) for address in addresses)
    assert "url(" not in "".join(reader.raw)
    assert "@import" not in "".join(reader.raw)


def test_what_a_plugin_says_never_becomes_an_element() -> None:
    def shape(report: Report) -> list[tuple[str, set[str]]]:
        return [(tag, set(attributes)) for tag, attributes in Reader(to_html(report)).elements]

    hostile = json.dumps(a_hostile_report().model_dump(), default=str)
    tame = Report.model_validate_json(hostile.replace(json.dumps(HOSTILE)[1:-1], "harmless"))
    assert HOSTILE not in str(tame)
    assert shape(a_hostile_report()) == shape(tame)
