"""Turns, ratios and verdicts: when a figure counts, and when the machine was too noisy to tell."""

import json
from xml.etree import ElementTree

import pytest

from bench import plot, report
from bench.catalog import CATALOG
from bench.measure import Measure, Result, Sample, take_turns

MACHINE: dict[str, object] = {
    "cores": 2,
    "memory_gib": 4,
    "python": "3.11",
    "generator": "wrk",
    "repeats": 3,
    "seconds": 5,
}


def result(
    ours: list[float], others: list[float], *, must: float | None = None, at_most: bool = False
) -> Result:
    measure = Measure("work", "some work", "requests/s", {}, must=must, at_most=at_most)
    samples = {
        "plugin": [Sample(value, {"p50": 1.0, "p99": 2.0}) for value in ours],
        "pgbench": [Sample(value) for value in others],
    }
    return Result(measure, samples)


def test_contestants_take_turns_and_every_round_starts_with_a_different_one() -> None:
    order: list[str] = []

    def contestant(name: str) -> Sample:
        order.append(name)
        return Sample(len(order))

    measure = Measure("work", "", "", {"a": lambda: contestant("a"), "b": lambda: contestant("b")})
    done = take_turns(measure, 3, lambda _: None)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert [sample.value for sample in done.samples["a"]] == [1, 4, 5]


def test_the_ratio_is_the_median_of_the_ratios_within_a_round() -> None:
    # The machine was half as fast in the second round, for both.
    assert result([80, 40, 90], [100, 50, 100]).ratio == pytest.approx(0.8)


def test_lower_is_better_inverts_the_ratio() -> None:
    measure = Measure("work", "", "ms", {}, better="lower", must=10)
    done = Result(measure, {"plugin": [Sample(2)], "scan": [Sample(50)]})
    assert done.ratio == 25
    assert done.verdict == "reached"


@pytest.mark.parametrize(
    ("ours", "others", "must", "at_most", "verdict"),
    [
        ([80, 82, 79], [100, 101, 99], 0.7, False, "reached"),
        ([60, 61, 59], [100, 101, 99], 0.7, False, "missed"),
        ([60, 90, 75], [100, 101, 99], 0.7, False, "too noisy to tell"),
        ([40, 90, 55], [100, 101, 99], 0.2, False, "reached"),
        ([120, 121, 119], [100, 101, 99], 1.5, True, "reached"),
        ([220, 221, 219], [100, 101, 99], 1.5, True, "missed"),
        ([220, 221, 219], [100, 101, 99], None, True, ""),
    ],
)
def test_a_verdict_says_whether_the_target_was_reached(
    ours: list[float], others: list[float], must: float | None, at_most: bool, verdict: str
) -> None:
    assert result(ours, others, must=must, at_most=at_most).verdict == verdict


def test_more_rounds_narrow_the_interval() -> None:
    nine = [80.0, 81, 82, 83, 84, 85, 86, 87, 60]
    assert result(nine, [100.0] * 9, must=0.7).verdict == "reached"
    assert result(nine, [100.0] * 9, must=0.7).interval == (0.8, 0.86)
    assert result(nine[4:], [100.0] * 5, must=0.7).verdict == "too noisy to tell"
    assert result([60, *nine[1:]], [100.0] * 9, must=0.7).verdict == "too noisy to tell"


def test_the_json_has_every_turn_and_the_markdown_one_row_per_measure() -> None:
    done = result([80, 82, 79], [100, 101, 99], must=0.7)
    document = json.loads(report.as_json([done], MACHINE))
    [measure] = document["measures"]
    assert measure["verdict"] == "reached"
    assert [sample["value"] for sample in measure["contestants"]["plugin"]["samples"]] == [
        80,
        82,
        79,
    ]
    rows = report.as_markdown("work", [done, done], MACHINE).splitlines()[4:]
    assert len(rows) == 2
    assert "0.80 ×" in rows[0]
    assert all(row.count("|") == len(report.HEADINGS) + 1 for row in rows)


def test_a_note_says_who_used_the_processors() -> None:
    measure = Measure("work", "some work", "requests/s", {}, note="known before")
    spent = {"plugin_us": 250.0, "postgres_us": 300.0}
    done = Result(measure, {"plugin": [Sample(1, spent)], "pgbench": [Sample(2)]})
    notes = report.as_markdown("work", [done], MACHINE).splitlines()[-2:]
    assert notes[0] == "- some work: known before."
    assert "250 µs of processor time in our processes and 300 µs in PostgreSQL" in notes[1]


def test_the_plot_is_an_svg_with_two_lines_per_kind() -> None:
    samples = {
        size: [Sample(value, {"p99": value * 3})]
        for size, value in (("1,000,000", 4.0), ("10,000", 3.0), ("100,000", 3.5))
    }
    grown = [Result(Measure(f"growth: {kind}", "", "ms", {}), samples) for kind in ("a", "b")]
    picture = ElementTree.fromstring(plot.draw(grown))
    assert len(picture.findall("{http://www.w3.org/2000/svg}polyline")) == 4


def test_every_group_of_the_catalog_has_measures() -> None:
    assert CATALOG.keys() >= {"plugin", "growth", "langgraph"}
    assert all(sources for sources in CATALOG.values())
