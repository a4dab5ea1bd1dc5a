"""The embedded PostgreSQL: data stays, leftovers are dealt with, nobody fights over a directory."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest

from postgres.embedded import embedded_postgres, program
from postgres.errors import EmbeddedFailed

FAST = {"fsync": "off"}


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mp-embedded-") as made:
        yield Path(made) / "data"


def ask(url: str, question: str) -> Any:
    async def run() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(question)
        finally:
            await connection.close()

    return asyncio.run(run())


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])


def running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_data_is_kept_across_restarts_and_the_server_stops(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST) as url:
        ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")
        pid = postmaster(data_dir)
    assert not running(pid)
    with embedded_postgres(data_dir, FAST) as url:
        assert ask(url, "SELECT answer FROM kept") == 42


def test_text_behaves_the_same_on_every_machine(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST) as url:
        assert ask(url, "SELECT lower('ÄÉТ') || (SELECT datlocale FROM pg_database LIMIT 1)") == (
            "äéтC.UTF-8"
        )


def test_a_second_process_on_the_same_directory_is_refused(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST) as url:
        refused = pytest.raises(EmbeddedFailed, match=f"in use by the process {os.getpid()}")
        with refused, embedded_postgres(data_dir, FAST):
            pass
        assert ask(url, "SELECT 1") == 1


def test_a_server_that_a_killed_process_left_running_is_replaced(data_dir: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path;"
        "from postgres.embedded import embedded_postgres\n"
        "with embedded_postgres(Path(sys.argv[1]), {'fsync': 'off'}):"
        " print('up', flush=True); time.sleep(600)"
    )
    killed = subprocess.Popen(
        [sys.executable, "-c", script, str(data_dir)], stdout=subprocess.PIPE, text=True
    )
    assert killed.stdout is not None
    with killed.stdout as said:
        assert said.readline() == "up\n"
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    left = postmaster(data_dir)
    assert running(left)
    with embedded_postgres(data_dir, FAST) as url:
        assert ask(url, "SELECT 1") == 1
        assert not running(left)


def test_an_interrupted_start_leaves_no_server_behind(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST):
        pass
    script = (
        "import signal, sys; from pathlib import Path;"
        "from postgres.embedded import embedded_postgres\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler);"
        "signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))\n"
        "with embedded_postgres(Path(sys.argv[1]), {'fsync': 'off'}): signal.pause()"
    )
    for milliseconds in range(40, 120, 5):
        command = [sys.executable, "-c", script, str(data_dir), str(milliseconds / 1000)]
        subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
        time.sleep(0.2)  # one that was on its way would be there by now
        left = [p.pid for p in psutil.process_iter() if str(data_dir / "postgres") in words(p)]
        assert left == [], f"interrupted after {milliseconds} ms"


def words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_a_server_that_dies_is_started_again(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST) as url:
        ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")
        died = postmaster(data_dir)
        os.kill(died, signal.SIGKILL)
        answer, deadline = None, time.monotonic() + 60
        while answer is None and time.monotonic() < deadline:
            with suppress(asyncpg.PostgresError, OSError):
                answer = ask(url, "SELECT answer FROM kept")
            time.sleep(0.1)
        assert answer == 42
        assert postmaster(data_dir) != died


def test_a_process_id_that_another_program_has_by_now_is_no_obstacle(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST):
        stale = (data_dir / "postgres" / "postmaster.pid").read_text()
    lines = stale.splitlines()
    lines[0] = str(os.getppid())
    (data_dir / "postgres" / "postmaster.pid").write_text("\n".join(lines))
    with embedded_postgres(data_dir, FAST) as url:
        assert ask(url, "SELECT 1") == 1


def test_an_interrupted_first_start_is_repeated(data_dir: Path) -> None:
    (data_dir / "postgres.new").mkdir(parents=True)
    (data_dir / "postgres.new" / "PG_VERSION").write_text("18\n")
    with embedded_postgres(data_dir, FAST) as url:
        assert ask(url, "SELECT 1") == 1


def test_a_path_too_long_for_a_unix_socket_works(data_dir: Path) -> None:
    with embedded_postgres(data_dir / ("long" * 30), FAST) as url:
        assert ask(url, "SELECT 1") == 1


def test_data_of_another_version_is_refused_with_what_to_do(data_dir: Path) -> None:
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "PG_VERSION").write_text("9\n")
    refused = pytest.raises(EmbeddedFailed, match=r"PostgreSQL 9, .* install the version that made")
    with refused, embedded_postgres(data_dir, FAST):
        pass


def test_a_directory_that_cannot_be_made_is_refused_with_what_to_do() -> None:
    refused = pytest.raises(EmbeddedFailed, match="--data-dir")
    with refused, embedded_postgres(Path("/proc/none")):
        pass


def test_the_server_never_runs_as_root_also_when_the_plugin_does(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST):
        assert psutil.Process(postmaster(data_dir)).uids().effective != 0


def test_the_programs_of_the_wheel_can_be_found() -> None:
    assert program("pgbench").exists()
    with pytest.raises(EmbeddedFailed, match="no_such"):
        program("no_such")
