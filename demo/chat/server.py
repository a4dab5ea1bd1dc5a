"""`memory-conversations` as the demo needs it: any user, one agent, one browser origin."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

AGENT_KEY = "demo-key"
_LISTENING = re.compile(r"listening.*?(http://127\.0\.0\.1:\d+)")
_SECONDS = 90.0


@contextmanager
def served(folder: Path, page: str) -> Iterator[str]:
    """The address of a server with temporary data."""
    log = folder / "server.log"
    command = [str(Path(sys.executable).with_name("memory-conversations"))]
    command += ["--dev-auth", "--listen", "127.0.0.1:0", "--data-dir", str(folder / "data")]
    environment = {
        **os.environ,
        "MEMORY_CONVERSATIONS_AGENT_KEYS": f"model={AGENT_KEY}",
        "MEMORY_CONVERSATIONS_CORS_ORIGINS": page,
    }
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)  # noqa: S603
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        process.wait(30)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if found := _LISTENING.search(log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise SystemExit(f"memory-conversations did not start:\n{log.read_text(errors='replace')}")
