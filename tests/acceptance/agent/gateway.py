"""The real `memory-gateway`, with the reference plugin as its child, as a process that can die."""

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import timeouts
from tests.waiting import SECONDS, until


class Gateway:
    """Always at the same address, even after restarts."""

    def __init__(self, database_url: str, directory: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._database_url = database_url
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = self._directory / "log"
        command = [
            str(Path(sys.executable).parent / "memory-gateway"),
            *("--listen", f"127.0.0.1:{self._port}"),
            *("--database-url", self._database_url),
            *("--data-dir", str(self._directory)),
        ]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                stderr=output,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **timeouts.ENVIRONMENT},
            )
        process = self._process
        until(lambda: b"listening" in log.read_bytes() or process.poll() is not None)
        assert process.poll() is None, log.read_text()

    def kill(self) -> None:
        """Kill it, as in a power failure."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=SECONDS)
            self._process = None

    def new_user(self, user_id: str) -> str:
        """The key of a user who did not exist before."""
        return str(self._ask("POST", "/users", body={"user_id": user_id})["user_key"])

    def delete_session(self, user_id: str, key: str, session_id: str) -> None:
        self._ask("DELETE", f"/sessions/{session_id}", who=f"{user_id}:{key}")

    def _ask(
        self, method: str, path: str, *, body: Any = None, who: str | None = None
    ) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
        if who is not None:
            request.add_header("Authorization", f"Basic {base64.b64encode(who.encode()).decode()}")
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return dict(json.loads(answer.read() or b"{}"))


@contextmanager
def running(database_url: str) -> Iterator[Gateway]:
    # A short path, because the child plugin's unix socket is in it.
    directory = Path(tempfile.mkdtemp(prefix="mp-gw-"))
    gateway = Gateway(database_url, directory)
    try:
        gateway.start()
        yield gateway
    finally:
        gateway.stop()
        shutil.rmtree(directory, ignore_errors=True)
