"""Every figure on a page was measured by `make bench`."""

import json

from bench import publish
from tests.unit.docs.pages import ROOT

NOT_YET = "Not measured yet: run `make bench`, then `make figures`.\n"


def test_the_figures_are_those_of_the_kept_results() -> None:
    text = (ROOT / "docs/memory-plugins/operating.md").read_text()
    [shown] = [found[2] for found in publish.places(text)]
    measured = (publish.KEPT / "bench.json").exists()
    assert shown == (publish.whole_table() if measured else NOT_YET)


def test_the_kept_table_has_a_row_for_everything_that_was_measured() -> None:
    if not (publish.KEPT / "bench.json").exists():
        return
    table = publish.whole_table()
    measures = json.loads((publish.KEPT / "bench.json").read_text())["measures"]
    assert measures
    assert all(f"| {one['title']} |" in table for one in measures)
