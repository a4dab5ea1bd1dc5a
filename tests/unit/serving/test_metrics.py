"""The numbers of several workers."""

import subprocess
import sys
from pathlib import Path

import pytest

from serving import metrics


def test_two_workers_may_forget_a_dead_one_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / f"gauge_livesum_{gone.pid}.db").touch()

    def other_was_faster(pid: int) -> None:
        raise FileNotFoundError(pid)

    monkeypatch.setattr(metrics, "mark_process_dead", other_was_faster)
    metrics._forget_dead_workers(tmp_path)
