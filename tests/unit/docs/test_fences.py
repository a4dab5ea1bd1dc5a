"""Every fenced block is of a kind that some test runs or checks."""

import json
import re
import subprocess

import pytest
import yaml

from tests.unit.docs.pages import ROOT, Fence, Page, fences, pages

# Where each language is run or checked. A language that is not here fails the build.
CHECKED = {
    "bash": "run by tests/acceptance/docs/test_commands.py",
    "console": "run there too, and its output compared",
    "python": "run there too",
    "json": "below",
    "yaml": "below, and run where it says so",
    "mermaid": "below",
    "text": "nothing to run",
}
MERMAID = ("flowchart", "sequenceDiagram", "stateDiagram-v2")
WHY_STATIC = re.compile(r"^# .*", re.MULTILINE)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_fence_names_a_language_that_is_checked(page: Page) -> None:
    unknown = [str(fence) for fence in page.fences if fence.language not in CHECKED]
    assert not unknown, f"no test looks at the fences at {unknown}"


@pytest.mark.parametrize("fence", fences("json"), ids=str)
def test_json_parses(fence: Fence) -> None:
    json.loads(fence.text)


@pytest.mark.parametrize("fence", fences("yaml"), ids=str)
def test_yaml_parses(fence: Fence) -> None:
    yaml.safe_load(fence.text)


@pytest.mark.parametrize("fence", fences("bash"), ids=str)
def test_commands_are_well_formed(fence: Fence) -> None:
    done = subprocess.run(["bash", "-n"], input=fence.text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("fence", fences("bash", "console", "python"), ids=str)
def test_no_block_writes_to_a_fixed_path_in_tmp(fence: Fence) -> None:
    """It would fail for whoever comes after another user of the machine."""
    assert "/tmp/" not in fence.text


@pytest.mark.parametrize("fence", [f for f in fences("bash") if f.static], ids=str)
def test_a_block_that_is_not_run_says_why(fence: Fence) -> None:
    assert WHY_STATIC.search(fence.text), f"{fence}: say in a comment what it needs"


@pytest.mark.parametrize("fence", [f for f in fences("python") if f.file], ids=str)
def test_a_program_that_is_saved_is_used_by_a_command_of_its_page(fence: Fence) -> None:
    commands = [f.text for f in fences("bash", "console") if f.page == fence.page and not f.static]
    assert fence.file is not None
    name = fence.file.removesuffix(".py")
    assert any(re.search(rf"\b{re.escape(name)}\b", text) for text in commands)


@pytest.mark.parametrize("fence", fences("mermaid"), ids=str)
def test_diagrams_are_well_formed(fence: Fence) -> None:
    lines = [line.strip() for line in fence.text.splitlines() if line.strip()]
    assert lines[0].split()[0] in MERMAID
    for line in lines[1:]:
        bare = re.sub(r'"[^"]*"', '""', line)
        for left, right in ("[]", "()", "{}"):
            assert bare.count(left) == bare.count(right), f"{fence}: unbalanced: {line}"
        assert line.count('"') % 2 == 0, f"{fence}: an open quote: {line}"
    if lines[0].startswith("flowchart"):
        _check_flowchart(fence, lines[1:])


def _check_flowchart(fence: Fence, lines: list[str]) -> None:
    """Nodes, arrows and groups only."""
    shape = r"""(?:\["[^"]*"\]|\("[^"]*"\)|\{"[^"]*"\}|\[\("[^"]*"\)\])?"""
    node = rf"\w+{shape}"
    arrow = r"""(?:-->|-\.->|==>|---)(?:\|"[^"]*"\|)?"""
    statement = re.compile(rf"{node}(?: {arrow} {node})*|subgraph \w+.*|end|direction \w+|%%.*")
    for line in lines:
        assert statement.fullmatch(line), f"{fence}: not understood: {line}"


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    spoken = "\n".join(fence.text for fence in fences("bash", "console"))
    words = "\n".join(code for page in pages() for _, code in page.code)
    named = set(re.findall(r"^(?:\$ )?make ([a-z][a-z-]*)", f"{spoken}\n{words}", re.MULTILINE))
    assert named <= targets, f"the Makefile has no {sorted(named - targets)}"
