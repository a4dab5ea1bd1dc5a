"""The lower bounds in pyproject.toml are correct: everything works with all of them at once.

Indirect dependencies are installed in the newest version that fits.
"""

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from memory_plugins.commands import ROOMS
from tests.acceptance.command import running

ROOT = Path(__file__).parents[2]
# What only developers of this repository need.
OWN = ("bench", "dev")
TOOLS = ("openapi-spec-validator", "pytest-timeout")
TESTS = (
    "tests/unit/backfill",
    "tests/unit/contract",
    "tests/unit/serving",
    "tests/integration/contract",
    "tests/integration/serving",
    "tests/acceptance/serving/test_toy.py",
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def lowest() -> dict[str, str]:
    """The lowest version of each dependency that may be installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *(it for name in extras.keys() - OWN for it in extras[name])]
    found = (re.match(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\d.]+)", line) for line in named)
    return {match[1]: match[2] for match in found if match}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the lowest versions."""
    folder = tmp_path_factory.mktemp("lowest")
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in lowest().items()))
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    done = subprocess.run(
        [*pip, f"--constraint={constraints}", f"{ROOT}[all]", *TOOLS],
        capture_output=True,
        text=True,
        check=False,
    )
    if "No matching distribution found for hatchling" in done.stderr:
        pytest.skip("there is no package index here to install from")
    assert done.returncode == 0, done.stderr[-4000:]
    return python


def test_every_bound_is_read() -> None:
    assert {"uvicorn", "typer", "pyjwt", "schemathesis"} <= lowest().keys()


def test_the_lowest_versions_are_installed(python: Path) -> None:
    script = (
        "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    )
    said = subprocess.run(
        [str(python), "-c", script, *lowest()], capture_output=True, text=True, check=True
    ).stdout.split()
    for name, wanted, found in zip(lowest(), lowest().values(), said, strict=True):
        assert re.fullmatch(re.escape(wanted) + r"(\.0)*", found), f"{name} {found}"


@pytest.mark.parametrize("command", ROOMS)
def test_every_command_shows_its_help(command: str, python: Path, tmp_path: Path) -> None:
    program = str(python.with_name(command))
    done = subprocess.run(
        [program, "--help"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_plugin_serves_and_the_harness_finds_it_conformant(
    python: Path, tmp_path: Path
) -> None:
    plugin = str(python.with_name("memory-plugin-postgres"))
    harness = str(python.with_name("memory-harness"))
    with running("--listen=127.0.0.1:0", f"--data-dir={tmp_path}", command=plugin) as process:
        done = subprocess.run(
            [harness, "run", process.address, "--timeout", "60"],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stdout[-4000:]


def test_the_tests_of_the_base_packages_pass(python: Path) -> None:
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )
    assert done.returncode == 0, done.stdout[-4000:]
