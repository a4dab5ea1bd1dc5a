"""The wheel installs elsewhere, and every command in it starts, or says which extra it lacks."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from memory_plugins.commands import EXTRAS, ROOMS

ROOT = Path(__file__).parents[3]


def run(*command: str | Path, cwd: Path, path: Path | None = None) -> tuple[int, str]:
    """Exit code and everything printed, in an environment that knows nothing of this clone."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd)}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel alone, and none of its dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    status, said = run(
        sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT
    )
    assert status == 0, said
    [wheel] = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps"]
    status, said = run(*pip, "--no-index", wheel, cwd=folder)
    assert status == 0, said
    return folder / "env" / "bin"


@pytest.mark.parametrize("command", ROOMS)
def test_every_command_of_the_wheel_shows_its_help(
    command: str, installed: Path, tmp_path: Path
) -> None:
    dependencies = Path(sysconfig.get_path("purelib"))
    status, said = run(installed / command, "--help", cwd=tmp_path, path=dependencies)
    assert status == 0, said
    assert "sage" in said


@pytest.mark.parametrize("command", ROOMS)
def test_a_command_without_its_extra_says_which(
    command: str, installed: Path, tmp_path: Path
) -> None:
    status, said = run(installed / command, "--help", cwd=tmp_path)
    assert status == 1
    assert said.count("\n") == 1
    assert f"pip install 'memory-plugins[{EXTRAS[command]}]'" in said


def test_the_wheel_holds_every_file_that_the_rooms_read(installed: Path) -> None:
    [packages] = (installed.parent / "lib").glob("python*/site-packages")
    tracked = subprocess.run(
        ["git", "ls-files", *ROOMS.values(), "contract", "language", "postgres", "serving"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert tracked
    assert [name for name in tracked if not (packages / name).exists()] == []


FOREIGN = """
import contract, harness

def test_the_projects_own_packages_are_found():
    assert harness.OWN == contract.OWN == "ours"
"""


@pytest.mark.parametrize("way", [["-m", "pytest"], ["-c", "import pytest; pytest.main()"]])
def test_a_project_with_a_harness_and_a_contract_of_its_own_is_not_disturbed(
    installed: Path, tmp_path: Path, way: list[str]
) -> None:
    for name in ("harness", "contract"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text('OWN = "ours"\n')
    (tmp_path / "conftest.py").write_text("")
    (tmp_path / "test_own.py").write_text(FOREIGN)
    dependencies = Path(sysconfig.get_path("purelib"))
    status, said = run(installed / "python", *way, cwd=tmp_path, path=dependencies)
    assert "1 passed" in said, said
    assert status == 0
    status, said = run(
        installed / "python",
        *["-m", "pytest", "--memory-plugin-url", "http://127.0.0.1:1"],
        cwd=tmp_path,
        path=dependencies,
    )
    assert status == 4
    assert "this project has its own package contract" in said


def test_pytest_checks_a_plugin_wherever_the_wheel_is_installed(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_suite.py").write_text(
        "import pytest\n"
        "from harness import Settings\n"
        "from harness.example import create_app\n"
        "from harness.pytest_plugin import ConformanceSuite\n"
        "class TestExample(ConformanceSuite):\n"
        "    @pytest.fixture(scope='class')\n"
        "    @classmethod\n"
        "    def memory_plugin(cls):\n"
        "        return create_app()\n"
    )
    dependencies = Path(sysconfig.get_path("purelib"))
    command = [str(installed / "python"), "-m", "pytest", "-q", "--strict-markers"]
    status, said = run(*command, "-k", "forget-twice or twice", cwd=tmp_path, path=dependencies)
    assert status == 0, said
    assert "passed" in said
    url = ("-k", "forget.twice", "--memory-plugin-url", "x")
    status, said = run(*command, *url, cwd=tmp_path, path=dependencies)
    assert status != 0
    assert "the plugin's address must be" in said
