"""Every command and every Python block of the pages runs, in the order of the page."""

import re
from pathlib import Path

import pytest
import yaml

from tests.acceptance.docs.sandbox import RUNNABLE, Sandbox
from tests.unit.docs.pages import Page, page, pages

SECONDS = 550.0  # less than a test may take


def _runs_something(page: Page) -> bool:
    return any(fence.language in RUNNABLE and not fence.static for fence in page.fences)


@pytest.mark.parametrize(
    "page", [page for page in pages() if _runs_something(page)], ids=lambda page: page.name
)
def test_a_page_can_be_followed_literally(
    page: Page, tmp_path: Path, databases: dict[str, str]
) -> None:
    for command in Sandbox(tmp_path, databases).run(page, SECONDS):
        assert command.agrees(), (
            f"{command.place} shows:\n{command.shown}\nbut it prints:\n{command.printed}"
        )


def test_the_workflow_for_ci_works_as_it_stands(tmp_path: Path, databases: dict[str, str]) -> None:
    [fence] = [
        fence
        for fence in page("docs/memory-plugins/testing-your-plugin.md").fences
        if fence.language == "yaml"
    ]
    [job] = yaml.safe_load(fence.text)["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "run" in step]
    sandbox = Sandbox(tmp_path, databases)
    # It is installed already. A part of the checks will do here, which the exit code tells.
    script = "\n".join(steps).replace("make install", "")
    run = re.compile(r"^memory-harness run .*$", re.MULTILINE)
    script = run.sub(lambda found: f"{found[0]} --only health || [ $? = 4 ]", script)
    files = {name: str(tmp_path / name) for name in ("GITHUB_PATH", "GITHUB_STEP_SUMMARY")}
    sandbox.execute(script, SECONDS, **files)
    assert "| health | 4 |" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    kept = {path.suffix for path in tmp_path.glob("conformance.*")}
    assert kept == {".json", ".xml", ".html", ".md", ".svg"}
