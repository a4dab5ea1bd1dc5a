"""The real `memory-gateway` of the agent's demo: a process that can be killed and restarted."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import httpx

BIN = Path(sys.executable).parent
PATIENCE = 60.0


class Gateway:
    """On an embedded PostgreSQL in `directory`, with the reference plugin as its child."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._listen = "127.0.0.1:0"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self) -> None:
        """Returns when it listens, at the same address every time."""
        log = self._directory / "gateway.log"
        with log.open("w") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [BIN / "memory-gateway", "--listen", self._listen],
                cwd=self._directory,
                env={**os.environ, "MEMORY_GATEWAY_DATA_DIR": str(self._directory / "data")},
                stdin=subprocess.DEVNULL,
                stderr=output,
            )
        until = time.monotonic() + PATIENCE
        while not (found := re.search(r"listening.*(http://(\S+))", log.read_text())):
            if self._process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"the gateway did not start:\n{log.read_text()}")
            time.sleep(0.05)
        self.url, self._listen = found[1], found[2]

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(timeout=PATIENCE)

    def new_user(self, user_id: str) -> str:
        """The user's key."""
        answer = httpx.post(f"{self.url}/users", json={"user_id": user_id}, timeout=PATIENCE)
        return str(answer.raise_for_status().json()["user_key"])

    def delete(self, path: str, user_id: str, user_key: str) -> int:
        """The status of the answer."""
        who = (user_id, user_key)
        return httpx.delete(f"{self.url}{path}", auth=who, timeout=PATIENCE).status_code


class KilledBeforeFlush(httpx.AsyncHTTPTransport):
    """Lets a turn through to the gateway and kills it before the flush."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__()
        self._gateway = gateway

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/flush"):
            self._gateway.kill()
        return await super().handle_async_request(request)
