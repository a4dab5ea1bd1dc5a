"""The embedded server when its start, or its recovery after a crash, is interrupted."""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from postgres.embedded import embedded_postgres
from tests.integration.postgres.server import (
    FAST,
    ask,
    new_directory,
    nothing_runs,
    postmaster,
    started,
)
from tests.waiting import SECONDS


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with new_directory() as path:
        with embedded_postgres(path, FAST):
            pass
        yield path


@pytest.mark.parametrize("step", [150, pytest.param(50, marks=pytest.mark.slow)])
def test_an_interrupted_start_leaves_no_server_behind(data_dir: Path, step: int) -> None:
    for milliseconds in range(0, 1000, step):
        process = started(data_dir)
        time.sleep(0.05 + milliseconds / 1000)
        process.send_signal(random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL]))
        process.wait(SECONDS)
        if process.stdout is not None:
            process.stdout.close()
        nothing_runs(data_dir)
    with embedded_postgres(data_dir, FAST) as url:
        assert ask(url, "SELECT 1") == 1


@pytest.mark.parametrize("order", [signal.SIGTERM, signal.SIGKILL])
def test_a_stop_does_not_wait_for_a_server_that_does_not_become_ready(
    data_dir: Path, order: signal.Signals
) -> None:
    """As during the recovery of a long log after a crash."""
    (data_dir / "postgres" / "postmaster.pid").unlink(missing_ok=True)
    process = started(data_dir)
    psutil.Process(postmaster(data_dir)).suspend()
    os.kill(process.pid, order)
    process.wait(SECONDS)
    if process.stdout is not None:
        process.stdout.close()
    nothing_runs(data_dir)
