"""`make demo` tells its whole story, leaves the report and nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from tests import timeouts
from tests.unit.docs.pages import ROOT

STORY = (ROOT / "demo" / "story.py").read_text()
PICTURE = ROOT / "demo" / "demo.svg"
CHAPTERS = sorted(
    re.findall(r'chapter\(\s*"([^"]+)"', STORY), key=lambda title: (title[0].isdigit(), title)
)


def test_the_demo_runs_to_its_end_and_cleans_up(tmp_path: Path) -> None:
    report = ROOT / "build" / "demo" / "report.html"
    report.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "demo"],
        cwd=ROOT,
        env={
            **os.environ,
            **timeouts.ENVIRONMENT,
            "TMPDIR": str(tmp_path),
            "COLUMNS": "100",
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
    assert len(CHAPTERS) == 7
    assert re.findall(r"exit code (\d)", done.stdout) == ["1", "0", "0", "1", "0", "0", "0"]
    assert "2 missing, 1 different" in done.stdout
    assert done.stdout.rstrip().endswith("build/demo/report.html")
    assert "<html" in report.read_text()
    assert list(tmp_path.iterdir()) == []


def test_the_picture_shows_the_story_and_needs_nothing_from_outside() -> None:
    svg = PICTURE.read_text()
    text = "".join(ElementTree.fromstring(svg).itertext()).replace("\xa0", " ")
    assert [chapter for chapter in CHAPTERS if chapter not in text] == []
    assert re.findall(r"url\((?!#)|href=|src=|@import", svg) == []
    assert "<script" not in svg
    assert "prefers-reduced-motion" in svg
