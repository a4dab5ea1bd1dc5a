"""Our commands as processes, as an operator starts them."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests import timeouts
from tests.waiting import SECONDS

PLUGIN = "memory-plugin-postgres"
_LISTENING = re.compile(r"""listening.*?address"?[=:]"?([^\s"]+)""")


def program(command: str) -> list[str]:
    """One of our commands, by name or by path, or a test module that is one."""
    if command.startswith("tests."):
        return [sys.executable, "-m", command]
    return [str(Path(sys.executable).parent / command)]


class Running:
    """A server that has come as far as a line of its log, `lines`; mostly, that it listens."""

    def __init__(self, process: "subprocess.Popen[str]", until: "re.Pattern[str]") -> None:
        self.process = process
        self.lines: list[str] = []
        self._arriving: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = (*self.wait_for(until).groups(), "")[0]

    def wait_for(self, pattern: "re.Pattern[str]") -> "re.Match[str]":
        """The first line of the log from here on that matches."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            try:
                line = self._arriving.get(timeout=1)
            except queue.Empty:
                continue
            if line is None:
                break
            if match := pattern.search(line):
                return match
        raise AssertionError("\n".join(["the log has no such line:", *self.lines]))

    @property
    def workers(self) -> list[psutil.Process]:
        return self.children("spawn_main")

    def children(self, word: str) -> list[psutil.Process]:
        """The processes that it has started, and that live, with this word in their commands."""
        found = []
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess):  # also of one that has ended and is not reaped
                if any(word in part for part in child.cmdline()):
                    found.append(child)
        return found

    def stop(self, order: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop and return its exit code."""
        self.process.send_signal(order)
        return self.exit_code()

    def signal_all(self, order: signal.Signals) -> None:
        """Signal it and its workers, as a terminal does on Ctrl-C."""
        os.killpg(self.process.pid, order)

    def exit_code(self) -> int:
        """The exit code of a server that was told to stop."""
        code = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        return code

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            self._arriving.put(self.lines[-1])
        self._arriving.put(None)


@contextmanager
def running(
    *flags: str,
    environment: Mapping[str, str] | None = None,
    until: "re.Pattern[str]" = _LISTENING,
    through: str | None = None,
    command: str = PLUGIN,
) -> Iterator[Running]:
    """Start the command, wait until it listens, and end it afterwards."""
    process = subprocess.Popen(
        [*([through] if through else []), *program(command), *flags],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **timeouts.ENVIRONMENT, **(environment or {})},
    )
    try:
        yield Running(process, until)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stderr is not None:
            process.stderr.close()


def ended(*flags: str, environment: Mapping[str, str] | None = None) -> tuple[int, str]:
    """The exit code and the last line of a command that ends by itself."""
    code, lines = told(*flags, environment=environment)
    return code, lines[-1]


def told(
    *flags: str, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> tuple[int, list[str]]:
    """The exit code and all lines of a command that ends by itself."""
    done = subprocess.run(
        [*program(PLUGIN), *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        cwd=cwd,
        env={**os.environ, **timeouts.ENVIRONMENT, **(environment or {})},
    )
    return done.returncode, done.stderr.strip().splitlines()
