"""The process that keeps an embedded PostgreSQL for all of our commands on a data directory.

Each command that uses the server holds a shared lock on the file `users`, which the kernel releases
when the command ends, however it ends. The keeper holds `lock`, runs the server as its child,
starts it again when it dies, and stops it when nobody holds `users` any more. When the keeper
itself is killed, the server stops, and the next command, or one that is still there, starts another
keeper (`postgres.embedded`).

It says on its standard output when the server is ready, or why it does not start.
"""

import fcntl
import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from postgres.errors import EmbeddedFailed
from postgres.server import Server

LOCK = "lock"
USERS = "users"
READY = "ready"
FAILED = "failed: "

_POLL_SECONDS = 0.2
_START_POLL_SECONDS = 0.02
# Processes of a killed server may still be ending, and keep the next one from starting.
_RETRY_SECONDS = 5.0
_RETRY_PAUSE_SECONDS = 0.25
# Commands look for a moment whether the lock is held.
_LOCK_SECONDS = 1.0


def main() -> None:
    """Keep the server in the directory that is the first argument; options are the second."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    data_dir = Path(sys.argv[1])
    os.chdir("/")
    try:
        with (data_dir / LOCK).open("a+") as lock, (data_dir / USERS).open("a+") as users:
            if _taken(lock):
                _keep(Server(data_dir, json.loads(sys.argv[2])), users)
    except (EmbeddedFailed, OSError) as error:
        _say(f"{FAILED}{error}")


def try_lock(file: IO[str], kind: int) -> bool:
    """Whether the lock could be taken at once."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _taken(lock: IO[str]) -> bool:
    """Hold the lock for as long as this process lives; False when another keeper does."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while not try_lock(lock, fcntl.LOCK_EX):
        if time.monotonic() > deadline:
            return False
        time.sleep(_START_POLL_SECONDS)
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return True


def _keep(server: Server, users: IO[str]) -> None:
    try:
        server.prepare()
        server.start()
        told = False
        retry_until = time.monotonic() + _RETRY_SECONDS
        # Once this lock is held, no process can start to use the server.
        while not try_lock(users, fcntl.LOCK_EX):
            if not server.is_alive():
                if not told and time.monotonic() > retry_until:
                    raise EmbeddedFailed(_last_words(server.data_dir))
                time.sleep(_RETRY_PAUSE_SECONDS)
                with suppress(OSError):
                    server.start()
            elif not told and server.is_ready():
                _say(READY)
                told = True
            time.sleep(_POLL_SECONDS if told else _START_POLL_SECONDS)
    finally:
        server.stop()
        server.forget_socket()


def _last_words(data_dir: Path) -> str:
    log = data_dir / "postgres.log"
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    fatal = [line for line in lines if "FATAL" in line] or lines or ["it says nothing"]
    return f"the embedded PostgreSQL did not start: {fatal[-1]} Its log is {log}"


def _say(line: str) -> None:
    """Report to the process that started this one; afterwards nobody reads it."""
    with suppress(OSError):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


if __name__ == "__main__":
    main()
