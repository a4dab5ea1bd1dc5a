"""The JUnit report, as CI servers read it."""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from harness.render.junit import to_junit
from harness.render.markup import printable
from harness.report import Report
from tests.unit.harness.reports import HOSTILE, a_hostile_report, a_report, a_result

# What Jenkins' schema allows, which is stricter than the other servers' parsers.
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "property": {"name", "value"},
    "properties": set(),
    "system-out": set(),
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "testcase": {"failure", "error", "skipped", "system-out"},
    "properties": {"property"},
}


def read(report: Report) -> Element:
    return ElementTree.fromstring(to_junit(report))


def case(root: Element, name: str) -> Element:
    found = root.findall(f".//testcase[@name='{name}']")
    assert len(found) == 1
    return found[0]


def test_a_failed_check_has_a_failure_with_everything_that_helps() -> None:
    root = read(
        a_report(
            a_result(
                "forget.unknown-id", "fail", expected="404", got="500", curl=["curl 1", "curl 2"]
            )
        )
    )
    failure = case(root, "forget.unknown-id").find("failure")
    assert failure is not None
    assert failure.attrib == {"type": "fail", "message": "expected 404, got 500"}
    assert failure.text == (
        "contract: A sentence.\nexpected: 404\ngot: 500\nrepeat it with:\ncurl 1\ncurl 2"
    )


def test_what_was_not_judged_is_an_error_and_what_does_not_apply_is_skipped() -> None:
    root = read(
        a_report(
            a_result("ttl.a", "error", message="the plugin went away"),
            a_result("ttl.b", "unsupported", message="the plugin does not claim ttl"),
            a_result("ttl.c", "excluded", message="excluded by --exclude ttl.c"),
        )
    )
    error = case(root, "ttl.a").find("error")
    assert error is not None
    assert error.attrib["message"] == "the plugin went away"
    skips = [case(root, name).find("skipped") for name in ("ttl.b", "ttl.c")]
    assert [skip is not None and skip.attrib["type"] for skip in skips] == [
        "unsupported",
        "excluded",
    ]


def test_a_warning_passes_and_says_why() -> None:
    warned = case(read(a_report(a_result("search.a", "warn", expected="a", got="b"))), "search.a")
    assert [child.tag for child in warned] == ["system-out"]
    assert (warned[0].text or "").startswith("warning: expected a, got b\n")


def test_the_counts_are_those_of_the_elements() -> None:
    root = read(a_hostile_report())
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == [
        *a_hostile_report().by_area(),
        "verdict",
    ]
    for suite in suites:
        for attribute, tag in (
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            assert int(suite.attrib[attribute]) == len(suite.findall(f"testcase/{tag}"))
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
    for attribute in ("tests", "failures", "errors"):
        assert int(root.attrib[attribute]) == sum(int(suite.attrib[attribute]) for suite in suites)


@pytest.mark.parametrize(
    ("report", "tag"),
    [
        (a_report(a_result("a.a", "pass")), None),
        (a_report(a_result("a.a", "fail")), "failure"),
        (a_report(a_result("a.a", "pass"), a_result("a.b", "excluded")), "error"),
        (a_report(a_result("a.a", "unsupported")), "error"),
        (a_report(), "error"),
    ],
)
def test_only_a_conformant_plugin_is_green(report: Report, tag: str | None) -> None:
    assert [child.tag for child in case(read(report), "verdict")] == ([tag] if tag else [])


def test_the_run_is_identified() -> None:
    properties = read(a_report(a_result("a.a", "pass"))).iter("property")
    facts = {item.attrib["name"]: item.attrib["value"] for item in properties}
    assert facts["plugin.url"] == "http://localhost:9100"
    assert facts["seed"] == "1"
    assert facts["openapi_sha256"] == "0" * 64


def test_the_file_has_only_what_ci_servers_know_even_for_a_hostile_plugin() -> None:
    root = read(a_hostile_report())
    for found in root.iter():
        assert set(found.attrib) <= ATTRIBUTES[found.tag]
        assert {child.tag for child in found} <= CHILDREN.get(found.tag, set())
    failure = case(root, "idempotency.same-id-updates-in-place").find("failure")
    assert failure is not None
    assert printable(HOSTILE) in (failure.text or "")
