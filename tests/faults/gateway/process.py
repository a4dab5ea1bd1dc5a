"""The real gateway as a process, connected to its database and plugin through relays."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx
import psutil

from tests.faults.plugin import http
from tests.waiting import SECONDS

_PATIENCE_SECONDS = 900


@dataclass
class Gateway:
    """One `memory-gateway`. A unix socket keeps its address across restarts."""

    directory: Path
    database_url: str
    plugin: Path
    workers: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return self.directory / "gateway.sock"

    @property
    def log(self) -> str:
        return (self.directory / "gateway.log").read_text(errors="replace")

    def start(self) -> None:
        command = [
            str(Path(sys.executable).with_name("memory-gateway")),
            f"--listen=unix:{self.socket}",
            f"--database-url={self.database_url}",
            f"--plugin-url=unix:{self.plugin}",
            f"--workers={self.workers}",
            "--skip-migrate",
            "--startup-timeout=60",
        ]
        with (self.directory / "gateway.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env={**os.environ, **self.environment},
            )

    def kill(self) -> None:
        """kill -9 all its processes at once."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        with suppress(psutil.NoSuchProcess):
            main = psutil.Process(process.pid)
            for it in [main, *main.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    it.kill()
        process.wait()

    async def ready(self) -> None:
        deadline = perf_counter() + SECONDS
        while True:
            with suppress(httpx.HTTPError):
                async with self.http() as client:
                    if (await client.get("/health")).status_code == 200:
                        return
            assert perf_counter() < deadline, f"the gateway is not ready:\n{self.log}"
            await asyncio.sleep(0.1)

    @asynccontextmanager
    async def http(self) -> AsyncIterator[httpx.AsyncClient]:
        async with http(f"unix:{self.socket}", timeout=60) as client:
            yield client

    async def insist(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Repeat a request until it gets a 2xx, like a client that must be sure."""
        deadline = perf_counter() + _PATIENCE_SECONDS
        while True:
            with suppress(httpx.HTTPError):
                async with self.http() as client:
                    answer = await client.post(path, json=body)
                if answer.is_success:
                    done: dict[str, Any] = answer.json()
                    return done
                assert answer.status_code == 503, (answer.status_code, answer.text)
            assert perf_counter() < deadline, f"no answer:\n{self.log[-5000:]}"
            await asyncio.sleep(0.1)
