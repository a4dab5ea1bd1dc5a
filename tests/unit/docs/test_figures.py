"""No figure stands on a page that `make bench` did not measure."""

import json
from typing import Any

import pytest

from bench import publish
from tests.unit.docs.pages import ROOT

NOT_YET = "Not measured yet: run `make bench`, then `make figures`.\n"


@pytest.mark.parametrize("name", ["README.md", "docs/memory-plugins/operating.md"])
def test_the_figures_are_those_of_the_kept_results(name: str) -> None:
    text = (ROOT / name).read_text()
    [shown] = [found[2] for found in publish.places(text)]
    measured = (publish.KEPT / "bench.json").exists()
    table = publish.short_table if name == "README.md" else publish.whole_table
    assert shown == (table() if measured else NOT_YET)


def test_the_kept_table_has_a_row_for_everything_that_was_measured() -> None:
    if not (publish.KEPT / "bench.json").exists():
        return
    table = publish.whole_table()
    measures = json.loads((publish.KEPT / "bench.json").read_text())["measures"]
    assert measures
    assert all(f"| {one['title']} |" in table for one in measures)


@pytest.mark.parametrize(
    ("measure", "shown"),
    [
        ({"ratio": 0.826, "unit": "memories/s", "contestants": ["plugin", "pgbench"]},
         "0.83 × as fast as pgbench"),
        ({"ratio": 10.4015, "unit": "ms", "contestants": ["plugin", "exact scan", "another"]},
         "10.4 × as fast as exact scan"),
        ({"ratio": 1.83, "unit": "ms", "contestants": ["common", "rare"], "at_most": True},
         "1.83 × as long as rare"),
        ({"ratio": 1.02, "unit": "MiB", "contestants": ["many", "few"], "at_most": True},
         "1.02 × as much as few"),
        ({"ratio": 61.29, "unit": "MiB", "contestants": ["plugin"], "at_most": True}, "61.3 MiB"),
        ({"ratio": 0.998, "unit": "recall", "contestants": ["plugin"]}, "recall 0.998"),
    ],
)  # fmt: skip
def test_a_figure_says_its_unit_or_what_it_is_a_ratio_of(
    measure: dict[str, Any], shown: str
) -> None:
    assert publish.result({"at_most": False, **measure}) == shown
