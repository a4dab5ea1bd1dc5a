"""JUnit XML, as Jenkins, GitLab and other CI servers read it.

A CI server only knows failures, errors and skips, and a file with only skips is green. So the
verdict is a separate test case, which fails if the plugin was not shown to be conformant.
"""

from collections.abc import Sequence
from datetime import UTC
from xml.etree.ElementTree import Element, indent, tostring

from harness.render.markup import element
from harness.render.story import story
from harness.report import Report, Result

_VERDICT = "verdict"


def to_junit(report: Report) -> str:
    """One suite for each area, one test case for each check, and one for the verdict."""
    suites = [_suite(report, area, results) for area, results in report.by_area().items()]
    suites.append(_verdict_suite(report))
    totals = {
        name: str(sum(int(suite.attrib[name]) for suite in suites))
        for name in ("tests", "failures", "errors")
    }
    root = element(
        "testsuites",
        {"name": "memory-harness", "time": f"{report.duration_seconds:.3f}"} | totals,
        suites,
    )
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(report: Report, area: str, results: Sequence[Result]) -> Element:
    cases = [_case(result) for result in results]
    seconds = sum(result.duration_seconds for result in results)
    return element("testsuite", _attributes(report, area, cases, seconds), cases)


def _verdict_suite(report: Report) -> Element:
    case = element("testcase", {"classname": "memory-harness", "name": _VERDICT, "time": "0.000"})
    if report.verdict == "not conformant":
        case.append(element("failure", {"type": report.verdict, "message": report.reason}))
    elif report.verdict != "conformant":
        case.append(element("error", {"type": report.verdict, "message": report.reason}))
    facts = {
        "verdict": report.verdict,
        "profile": report.profile,
        "run": report.run,
        "seed": str(report.seed),
        "harness_version": report.harness_version,
        "contract_version": report.contract_version,
        "openapi_sha256": report.openapi_sha256,
        "plugin.url": report.plugin.url,
        "plugin.version": report.plugin.version or "",
        "plugin.server": report.plugin.server or "",
        "plugin.capabilities": " ".join(report.plugin.capabilities),
        "plugin.extensions": " ".join(report.plugin.extensions),
    }
    properties = element(
        "properties",
        {},
        [element("property", {"name": name, "value": value}) for name, value in facts.items()],
    )
    return element("testsuite", _attributes(report, _VERDICT, [case], 0.0), properties, case)


def _attributes(
    report: Report, name: str, cases: Sequence[Element], seconds: float
) -> dict[str, str]:
    def having(tag: str) -> str:
        return str(sum(case.find(tag) is not None for case in cases))

    return {
        "name": name,
        "tests": str(len(cases)),
        "failures": having("failure"),
        "errors": having("error"),
        "skipped": having("skipped"),
        "time": f"{seconds:.3f}",
        "timestamp": report.started_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
    }


def _case(result: Result) -> Element:
    case = element(
        "testcase",
        {
            "classname": f"memory-harness.{result.area}",
            "name": result.id,
            "time": f"{result.duration_seconds:.3f}",
        },
    )
    summary = result.message or f"expected {result.expected}, got {result.got}"
    about = {"type": result.outcome, "message": summary}
    if result.outcome == "fail":
        case.append(element("failure", about, story(result)))
    elif result.outcome == "error":
        case.append(element("error", about, story(result)))
    elif result.outcome in ("unsupported", "excluded", "blocked"):
        case.append(element("skipped", about))
    elif result.outcome == "warn":
        # JUnit has no warnings, so this is a passed case with output.
        case.append(element("system-out", {}, f"warning: {summary}\n{story(result)}"))
    return case
