"""Another of our commands as a child process: restarted when it exits, never orphaned.

The child reads a pipe whose other end only its parent has. When the parent ends, also by `kill -9`,
the pipe ends with it, and the child stops.
"""

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from serving.errors import ServerFailed

_STOP_WITH_PARENT = "MEMORY_STOP_WITH_PARENT"
# In addition to the time that its requests have to finish.
_STOP_SECONDS = 10.0
# A child that keeps exiting is restarted only this often.
_PAUSE_SECONDS = 1.0

log = logging.getLogger(__name__)


@contextmanager
def child(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    name: str,
) -> Iterator["Child"]:
    """Run a command until the end of the context, however often it exits."""
    running = Child(command, environment, name)
    try:
        running.start()
        yield running
    finally:
        running.stop()


class Child:
    """A process and the thread that restarts it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], name: str) -> None:
        self._command = list(command)
        self._environment = {**environment, _STOP_WITH_PARENT: "1"}
        self._name = name
        self._process: subprocess.Popen[bytes] | None = None
        self._over = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        self._launch()

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def keep_alive(self) -> None:
        """From now on, restart it when it exits."""
        self._supervisor.start()

    def stop(self) -> None:
        """Let it finish what is in flight; kill it if that takes too long."""
        self._over.set()
        if self._supervisor.is_alive():
            self._supervisor.join()
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            log.error("child did not stop; killing it", extra={"child": self._name})
            process.kill()
            process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def _launch(self) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                self._command,
                # Never written to: it ends when this process does.
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=self._environment,
                # Ctrl-C is for this process: the child serves until we have finished.
                start_new_session=True,
            )
        except OSError as error:
            raise ServerFailed(f"cannot start {self._name}: {error.strerror}") from error

    def _supervise(self) -> None:
        while not self._over.wait(_PAUSE_SECONDS / 4):
            process = self._process
            if process is None or process.poll() is None:
                continue
            if process.stdin is not None:
                process.stdin.close()
            log.error(
                "child exited; restarting", extra={"child": self._name, "code": process.returncode}
            )
            try:
                self._launch()
            except ServerFailed as error:
                log.error("child did not start", extra={"reason": str(error)})
            self._over.wait(_PAUSE_SECONDS)


def stop_with_parent() -> None:
    """In a child: stop as on SIGTERM when the parent has gone, and exit soon after in any case."""
    if os.environ.pop(_STOP_WITH_PARENT, None) is None:
        return
    # Our handlers run in the main thread, wherever it is by then.
    own = os.getpid()

    def watch() -> None:
        with suppress(OSError):
            while os.read(0, 1024):
                pass
        os.kill(own, signal.SIGTERM)
        time.sleep(2 * _STOP_SECONDS)
        os.kill(own, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
