"""An embedded server in its own directory, and other processes that use it."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import psutil

from tests.in_memory import in_memory
from tests.waiting import SECONDS, until

FAST = {"fsync": "off"}


@contextmanager
def new_directory() -> Iterator[Path]:
    """A path for a data directory that does not exist yet."""
    with tempfile.TemporaryDirectory(prefix="mp-embedded-", dir=in_memory()) as made:
        yield Path(made) / "data"


@contextmanager
def copied_directory(template: Path) -> Iterator[Path]:
    """A directory with a database in it, in a fraction of the time that making one takes."""
    with new_directory() as data_dir:
        data_dir.mkdir()
        cp = shutil.which("cp")
        assert cp
        subprocess.run([cp, "-a", str(template / "postgres"), str(data_dir)], check=True)
        yield data_dir


def ask(url: str, question: str) -> Any:
    async def run() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(question)
        finally:
            await connection.close()

    return asyncio.run(run())


def postmaster(data_dir: Path) -> int:
    """The server, as soon as it has written its number: at first, the file is empty."""
    file = data_dir / "postgres" / "postmaster.pid"
    until(lambda: file.exists() and "\n" in file.read_text(), "it does not start")
    return int(file.read_text().split()[0])


def keeper(data_dir: Path) -> int:
    """The process that keeps the server; while another one takes over, the file is empty."""
    until(lambda: (data_dir / "lock").read_text() != "", "there is no keeper")
    return int((data_dir / "lock").read_text() or 0)


def running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def started(data_dir: Path) -> "subprocess.Popen[str]":
    """Another command that uses the running server."""
    script = (
        "import signal, sys; from pathlib import Path;"
        "from postgres.embedded import embedded_postgres\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit())\n"
        "with embedded_postgres(Path(sys.argv[1]), {'fsync': 'off'}) as url:"
        " print(url, flush=True); signal.pause()"
    )
    command = [sys.executable, "-c", script, str(data_dir)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@contextmanager
def another(data_dir: Path) -> Iterator["subprocess.Popen[str]"]:
    process = started(data_dir)
    assert process.stdout is not None
    with process.stdout as said:
        assert said.readline().startswith("postgresql://")
        try:
            yield process
        finally:
            process.terminate()
            process.wait(SECONDS)


def answers(url: str) -> None:
    """Wait until the server answers, and has what was written."""

    def answered() -> bool:
        with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            return bool(ask(url, "SELECT answer FROM kept") == 42)
        return False

    until(answered, "the server does not answer")


def processes_in(data_dir: Path) -> list[int]:
    """Everything that runs for this directory: server, its processes, keeper."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            words = process.cmdline()
            keeps = "postgres.keeper" in words and str(data_dir) in words
            if keeps or Path(process.cwd()) == data_dir / "postgres":
                found.append(process.pid)
    return found


def nothing_runs(data_dir: Path) -> None:
    """Wait until everything that ran for this directory has ended."""
    until(lambda: processes_in(data_dir) == [], "something runs on")
