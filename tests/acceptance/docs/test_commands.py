"""Every command and every Python block of the pages runs, in the order of the page."""

from pathlib import Path

import pytest

from tests.acceptance.docs.sandbox import RUNNABLE, run
from tests.unit.docs.pages import Page, pages

SECONDS = 110.0


def _runs_something(page: Page) -> bool:
    return any(fence.language in RUNNABLE and not fence.static for fence in page.fences)


@pytest.mark.parametrize(
    "page", [page for page in pages() if _runs_something(page)], ids=lambda page: page.name
)
def test_a_page_can_be_followed_literally(page: Page, tmp_path: Path, legacy: str) -> None:
    for block in run(page, tmp_path, legacy, SECONDS):
        assert block.agrees(), (
            f"{block.fence} shows:\n{block.shown}\nbut it prints:\n{block.printed}"
        )
