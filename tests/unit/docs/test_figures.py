"""No figure stands on a page that `make bench` did not measure."""

import json

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
