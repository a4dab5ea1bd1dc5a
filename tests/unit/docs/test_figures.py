"""Every figure on a page was measured by `make bench`."""

import json

from bench import publish
from tests.unit.docs.pages import ROOT

NOT_YET = "Not measured yet: run `make bench`, then `make figures`.\n"


def test_the_figures_are_those_of_the_kept_results() -> None:
    text = (ROOT / "docs/memory-plugins/operating.md").read_text()
    [shown] = [found[2] for found in publish.places(text)]
    assert shown == (publish.whole_table() if publish.kept() else NOT_YET)


def test_the_kept_table_has_a_row_for_everything_that_was_measured() -> None:
    for group in publish.kept():
        table = (publish.KEPT / f"{group}.md").read_text()
        measures = json.loads((publish.KEPT / f"{group}.json").read_text())["measures"]
        assert measures
        assert all(f"| {one['title']} |" in table for one in measures)
