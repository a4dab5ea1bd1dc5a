"""`.ci/run` is green only when the checks pass, the tests pass, and some test really ran."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = f"""
check:
\t$(CHECK)
test:
\t{sys.executable} -m pytest -p no:cacheprovider tests
"""
PASSES = "def test_one():\n    pass\n"
FAILS = "def test_one():\n    assert False\n"
SKIPS = "import pytest\n\ndef test_one():\n    pytest.skip('no browser')\n"


def run(clone: Path, tests: str, check: str = "true") -> subprocess.CompletedProcess[str]:
    """`.ci/run` in a clone whose targets are small."""
    (clone / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", clone / ".ci" / "run")
    (clone / "Makefile").write_text(MAKEFILE)
    (clone / "tests").mkdir()
    (clone / "tests" / "test_it.py").write_text(tests)
    # Something of each name, so that nothing is installed.
    (clone / "bin").mkdir()
    for program in ("chromium", "redis-server", "pgbouncer"):
        (clone / "bin" / program).symlink_to("/bin/true")
    path = os.pathsep.join([str(clone / "bin"), os.environ["PATH"]])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    own = {"PATH": path, "CHECK": check, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [clone / ".ci" / "run"],
        env=environment | own,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )


def test_green_shows_the_summary_of_the_tests(tmp_path: Path) -> None:
    done = run(tmp_path, PASSES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 tests executed, 0 skipped" in done.stdout
    assert "1 passed" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("tests", "check"),
    [(PASSES, "false"), (FAILS, "true"), ("", "true"), (SKIPS, "true"), ("import nothing", "true")],
    ids=["check fails", "a test fails", "no tests", "all skipped", "tests cannot be read"],
)
def test_red_when_anything_failed_or_nothing_ran(tmp_path: Path, tests: str, check: str) -> None:
    assert run(tmp_path, tests, check).returncode != 0
