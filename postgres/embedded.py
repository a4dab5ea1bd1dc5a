"""An embedded PostgreSQL: a real server in a data directory, on a unix socket without a port.

All of our commands on one data directory share it: the first starts it, the last stops it. It is
run by a process of its own (`postgres.keeper`), so that it does not end with the first of them.
In the data directory, `users` is locked by every process that uses the server, and `lock` by the
keeper.
"""

import fcntl
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from postgres.errors import EmbeddedFailed
from postgres.keeper import FAILED, LOCK, READY, USERS, try_lock
from postgres.server import Server

# After a crash the server replays its log before it answers; that can take minutes.
_START_SECONDS = 600.0
_STOP_SECONDS = 30.0
_PAUSE_SECONDS = 0.05
_WATCH_SECONDS = 1.0

log = logging.getLogger(__name__)


@contextmanager
def embedded_postgres(data_dir: Path, options: Mapping[str, str] | None = None) -> Iterator[str]:
    """The URL of the PostgreSQL in `data_dir`, which runs at least until the end of the context.

    The data stays; the server stops with its last user. `options` are server settings beyond the
    defaults; they take effect only if this call starts the server.
    """
    data_dir = data_dir.expanduser().absolute()
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        shared = _Shared(data_dir, dict(options or {}))
        try:
            with (data_dir / USERS).open("a+") as users:
                _use(users, data_dir)
                shared.ensure()
                with shared.watched():
                    yield shared.server.url
        finally:
            shared.leave()
    except OSError as error:
        raise EmbeddedFailed(
            f"the embedded PostgreSQL cannot use the data directory {data_dir}: {error.strerror};"
            " choose another one with --data-dir, or set --database-url"
        ) from error


def _use(users: IO[str], data_dir: Path) -> None:
    """Become one of the users; a keeper that is stopping the server has to finish first."""
    deadline = time.monotonic() + _STOP_SECONDS
    while not try_lock(users, fcntl.LOCK_SH):
        if time.monotonic() > deadline:
            raise EmbeddedFailed(f"the embedded PostgreSQL in {data_dir} does not stop; stop it")
        time.sleep(_PAUSE_SECONDS)


@dataclass
class _Shared:
    """The server as one of its users sees it."""

    data_dir: Path
    options: dict[str, str]
    server: Server = field(init=False)
    _over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.server = Server(self.data_dir)

    def ensure(self) -> None:
        """Return when the server is ready; start a keeper if there is none."""
        deadline = time.monotonic() + _START_SECONDS
        while not self._over.is_set():
            if not self._is_kept():
                self._start_keeper()
            if self.server.is_ready():
                return
            if time.monotonic() > deadline:
                raise EmbeddedFailed(
                    f"the embedded PostgreSQL did not become ready; see its log"
                    f" {self.data_dir / 'postgres.log'}"
                )
            time.sleep(_PAUSE_SECONDS)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Start another keeper if this one dies, because we need the server."""
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            self._over.set()
            watcher.join()

    def leave(self) -> None:
        """Wait until the server has stopped, unless it has other users."""
        deadline = time.monotonic() + _STOP_SECONDS
        with suppress(FileNotFoundError), (self.data_dir / USERS).open("a+") as users:
            while self._is_kept() and time.monotonic() < deadline:
                if try_lock(users, fcntl.LOCK_SH):
                    is_last = try_lock(users, fcntl.LOCK_EX)
                    fcntl.flock(users, fcntl.LOCK_UN)
                    if not is_last:
                        return
                time.sleep(_PAUSE_SECONDS)

    def _watch(self) -> None:
        missing = False
        while not self._over.wait(_WATCH_SECONDS):
            try:
                if not (self._is_kept() and self.server.process_id()):
                    missing = True
                    log.error("embedded PostgreSQL exited; restarting")
                    self.ensure()
            except (EmbeddedFailed, OSError) as error:
                log.error("embedded PostgreSQL did not start", extra={"reason": str(error)})
                continue
            if missing and not self._over.is_set():
                log.info("embedded PostgreSQL is running again")
            missing = False

    def _is_kept(self) -> bool:
        with (self.data_dir / LOCK).open("a+") as lock:
            return not try_lock(lock, fcntl.LOCK_SH)

    def _start_keeper(self) -> None:
        """Start it and read what it reports; if another keeper is running, it reports nothing."""
        # It outlives this process where there are other users.
        command = [sys.executable, "-P", "-m", "postgres.keeper", str(self.data_dir)]
        root = str(Path(__file__).parents[1])
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        keeper = subprocess.Popen(  # noqa: S603 - our own module
            [*command, json.dumps(self.options)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            # Ctrl-C is for the users of the server; it stops after they have.
            start_new_session=True,
        )
        said = rest = ""
        try:
            if keeper.stdout is not None:
                with keeper.stdout as output:
                    said = output.readline()
                    rest = "" if said.startswith((READY, FAILED)) else said + output.read()
            if not said.startswith(READY):
                keeper.wait()
        finally:
            keeper.returncode = 0  # it may outlive us: nobody waits for it
        if said.startswith(FAILED):
            raise EmbeddedFailed(said.removeprefix(FAILED).strip())
        if rest.strip():
            raise EmbeddedFailed(f"the embedded PostgreSQL is not kept: {rest.splitlines()[-1]}")
