"""`make demo-agent` tells its whole story and leaves nothing."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests import timeouts

ROOT = Path(__file__).parents[3]
CHAPTERS = re.findall(r'chapter\(\s*"([^"]+)"', (ROOT / "demo" / "agent.py").read_text())


@pytest.fixture
def directory() -> Iterator[Path]:
    # A short path: the gateway keeps a unix socket in it.
    with tempfile.TemporaryDirectory(prefix="mp-") as name:
        yield Path(name)


def test_the_demo_runs_to_its_end_and_cleans_up(directory: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "demo.agent"],
        cwd=ROOT,
        env={
            **os.environ,
            **timeouts.ENVIRONMENT,
            "TMPDIR": str(directory),
            "COLUMNS": "200",
            "NO_COLOR": "1",
        },
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert done.stderr == ""
    told = [done.stdout.index(chapter) for chapter in CHAPTERS]
    assert told == sorted(told)
    assert len(CHAPTERS) == 5
    for name in ("recall", "add", "flush"):
        assert f"memory_gateway_{name}_succeeded" in done.stdout
        assert f"memory_gateway_{name}_failed" in done.stdout
    assert "recalled  User: My cat is called Miso" in done.stdout
    assert done.stdout.count(": 204") == 2
    assert "uk_" not in done.stdout
    assert list(directory.iterdir()) == []
    left = [it.info["cmdline"] for it in psutil.process_iter(["cmdline"])]
    assert not any(str(directory) in " ".join(command or ()) for command in left)
