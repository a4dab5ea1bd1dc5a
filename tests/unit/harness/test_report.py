"""The JSON report: its published schema, its verdicts, its comparison with an earlier one."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import harness
from harness import ConfigurationError, Report, load_report
from harness.report import Outcome, compare, decide
from tests.unit.harness.reports import a_report, a_result

SCHEMA = Path(harness.__file__).with_name("report.schema.json")


def test_the_published_schema_is_that_of_the_model() -> None:
    # To publish a changed model: write Report.model_json_schema(mode="serialization") there.
    published = json.loads(SCHEMA.read_text())
    assert published == Report.model_json_schema(mode="serialization")
    assert published["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(published)


def test_a_report_is_valid_by_the_published_schema() -> None:
    validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
    validator.validate(json.loads(a_report(a_result("a.one", "pass")).to_json()))


def test_a_report_survives_its_file(tmp_path: Path) -> None:
    report = a_report(a_result("a.one", "fail"), a_result("b.two", "pass"))
    (tmp_path / "report.json").write_text(report.to_json())
    assert load_report(tmp_path / "report.json") == report


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other"}'])
def test_a_file_that_is_not_a_report_is_refused_with_advice(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"memory-harness run URL --json FILE"):
        load_report(tmp_path / "report.json")


def test_a_missing_report_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read the report .*gone\.json"):
        load_report(tmp_path / "gone.json")


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        (["pass"], "conformant"),
        (["pass", "warn"], "conformant"),
        (["pass", "unsupported"], "conformant"),
        (["pass", "fail"], "not conformant"),
        (["fail", "excluded", "error"], "not conformant"),
        (["pass", "excluded"], "partial"),
        (["pass", "error"], "partial"),
        (["unsupported"], "partial"),
        (["excluded"], "partial"),
        ([], "partial"),
    ],
)
def test_the_verdict(outcomes: list[Outcome], verdict: str) -> None:
    results = [a_result(f"a.{place}", outcome) for place, outcome in enumerate(outcomes)]
    assert decide(results)[0] == verdict


def test_a_plugin_that_went_away_is_unreachable_unless_it_failed_before() -> None:
    errors = [a_result("a.one", "pass"), a_result("a.two", "error")]
    assert decide(errors, reachable=False)[0] == "unreachable"
    assert decide([*errors, a_result("a.three", "fail")], reachable=False)[0] == "not conformant"


def test_each_verdict_has_its_exit_code() -> None:
    codes = {
        decide([a_result("a.one", outcome)])[0]: a_report(a_result("a.one", outcome)).exit_code
        for outcome in ("pass", "fail", "excluded")
    }
    assert codes == {"conformant": 0, "not conformant": 1, "partial": 4}


def test_a_comparison_names_what_changed() -> None:
    earlier = a_report(
        a_result("a.same", "pass"),
        a_result("a.worse", "pass"),
        a_result("a.better", "fail"),
        a_result("a.removed", "pass"),
    )
    now = [
        a_result("a.same", "pass"),
        a_result("a.worse", "warn"),
        a_result("a.better", "pass"),
        a_result("a.added", "fail"),
    ]
    comparison = compare(now, earlier)
    assert comparison.regressions == ["a.worse"]
    assert comparison.fixed == ["a.better"]
    assert comparison.added == ["a.added"]
    assert comparison.removed == ["a.removed"]
