"""The repository installs itself, at pinned versions, and contains nothing private."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIREMENT = re.compile(r"[A-Za-z0-9_.-]+")
LOCK_FILES = {"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "package-lock.json", "pip.conf"}
# Split, so that this file does not find itself.
REGISTRIES = ["py" + "pi.org", "python" + "hosted", "registry." + "npm", "index" + "-url"]
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:" + "|".join(["root", "work", "home"]) + r")/\w")


def committed() -> list[Path]:
    """The files that git tracks; without git, all files."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in ROOT.rglob("*") if path.is_file() and ".venv" not in path.parts]


def name_of(requirement: str) -> str:
    found = REQUIREMENT.match(requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def test_no_committed_file_names_a_registry_or_a_path_of_a_machine() -> None:
    for path in committed():
        if not path.exists():
            continue
        assert path.name not in LOCK_FILES
        text = path.read_text(errors="ignore")
        for registry in REGISTRIES:
            assert registry not in text, f"{path.relative_to(ROOT)} names {registry}"
        assert not MACHINE_PATHS.search(text), f"{path.relative_to(ROOT)} names a machine's path"


def test_every_requirement_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lines = (ROOT / "constraints.txt").read_text().split()
    pins = {name_of(line) for line in lines}
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in project["project"]["optional-dependencies"].values():
        wanted += extra
    ours = name_of(project["project"]["name"])
    assert {name_of(requirement) for requirement in wanted} - pins == {ours}


def test_make_alone_lists_every_target_with_a_line() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    shown = dict(re.findall(r"^make ([a-z-]+) +(\S.*)$", listed, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert set(shown) == set(phony.split())
    assert {"install", "run", "test", "check"} <= set(shown)


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "LICENSE"])
def test_the_usual_pages_exist(name: str) -> None:
    assert (ROOT / name).stat().st_size > 500


def test_ci_is_executable() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(script)], check=True)
