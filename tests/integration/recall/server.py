"""The real command as a process, with a plugin and a scripted model."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from tests import timeouts
from tests.waiting import SECONDS

COMMAND = str(Path(sys.executable).with_name("memory-recall"))
HARNESS = str(Path(sys.executable).with_name("memory-harness"))
MANAGEMENT = {"authorization": "Bearer test-management"}
_LISTENING = re.compile(r"""listening.*?address"?[=:]"?([^\s"]+)""")
_EXAMPLE = re.compile(r"listening on (\S+)")


class Process:
    """A process and the lines of its log."""

    def __init__(
        self, command: list[str], environment: dict[str, str], until: re.Pattern[str]
    ) -> None:
        # The tests do not inherit the settings of whoever runs them.
        own = {k: v for k, v in os.environ.items() if not k.startswith("MEMORY_")}
        self.process = subprocess.Popen(
            command,
            env=own | timeouts.ENVIRONMENT | environment,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.lines: list[str] = []
        self._arriving: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = self._wait(until)[1]

    @property
    def log(self) -> str:
        return "\n".join(self.lines)

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait(10)
        self._reader.join(SECONDS)
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code

    def _wait(self, pattern: re.Pattern[str]) -> re.Match[str]:
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
        self.process.kill()
        raise AssertionError("\n".join(["it does not listen:", *self.lines]))

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            self._arriving.put(self.lines[-1])
        self._arriving.put(None)


class Recall(Process):
    """`memory-recall`, reachable at `url`."""

    @property
    def url(self) -> str:
        return self.address if "://" in self.address else f"http://{self.address}"


@contextmanager
def recall(*flags: str, **environment: str) -> Iterator[Recall]:
    """The command with these flags, on a free port."""
    command = [COMMAND, "--listen", "127.0.0.1:0", *flags]
    running = Recall(command, environment, _LISTENING)
    try:
        yield running
    finally:
        running.stop()


def be_patient(server: Recall, token: str = "test-management") -> None:
    """Let memory take its time: on a busy machine 250 ms are soon over. Every worker hears it."""
    headers = {"authorization": f"Bearer {token}"}
    with ExitStack() as connected:
        # They stay connected, so that each new one goes to the worker with fewer clients.
        clients = [
            connected.enter_context(httpx.Client(base_url=server.url, headers=headers, timeout=60))
            for _ in range(8)
        ]
        asked = clients[0].put("/api/settings/memory", json={"retrievalBudgetMs": 5000})
        asked.raise_for_status()
        for client in clients:
            client.get("/api/settings/memory").raise_for_status()


@contextmanager
def plugin_process(listen: str, *without: str) -> Iterator[Process]:
    """The harness's plugin, which keeps everything in memory, as a process."""
    command = [HARNESS, "serve-example", "--listen", listen]
    for name in without:
        command += ["--without", name]
    running = Process(command, {}, _EXAMPLE)
    try:
        yield running
    finally:
        running.stop()


@contextmanager
def example_plugin(*without: str, listen: str = "127.0.0.1:0") -> Iterator[str]:
    """The URL of the harness's plugin."""
    with plugin_process(listen, *without) as running:
        yield running.address
