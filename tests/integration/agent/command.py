"""`memory-agent` with the servers of the test."""

import asyncio
import io
import json
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.cli import main
from tests.integration.contract.stub import Reply, Stub
from tests.unit.agent.world import KEY

ROOT = Path(__file__).parents[3]
API_KEY = "sk-canary-90ab"
CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


class Command:
    """Commands with their own home directory, and the servers they use."""

    def __init__(self, home: Path, server: Stub) -> None:
        self.home = home
        self.server = server
        self.environment = {
            **{key: value for key, value in os.environ.items() if "PROXY" not in key.upper()},
            "HOME": str(home),
            "MEMORY_AGENT_HOME": str(home / ".beaver"),
            "NO_COLOR": "1",
            "COLUMNS": "100",
        }
        server.answer("POST", "/memories/search", Reply(body={"results": []}))
        server.answer("POST", "/memories/add", Reply(body={"status": "accumulated"}))
        server.answer("POST", "/memories/flush", Reply(body={"status": "extracted"}))
        server.answer("GET", "/health", Reply(body={"status": "ok"}))

    def configure(self, **more: Any) -> Path:
        """Hybrid, with a gateway and a provider, unless it says otherwise."""
        gateway = {"baseUrl": self.server.url, "userId": "ada", "userKey": KEY}
        provider = {"baseUrl": f"{self.server.url}/v1", "model": "m", "apiKey": API_KEY}
        data = {"memory": {"mode": "hybrid", "gateway": gateway}, "provider": provider, **more}
        path = self.home / ".beaver" / "config.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({key: it for key, it in data.items() if it is not None}))
        return path

    def says(self, *texts: str) -> None:
        """What the model answers, in turn."""
        bodies = [{"choices": [{"message": {"content": text}}]} for text in texts]
        self.server.answer("POST", CHAT, *(Reply(body=body) for body in bodies))

    def asked(self) -> list[list[dict[str, Any]]]:
        return [request.json["messages"] for request in self.server.asked("POST", CHAT)]

    async def run(self, *arguments: str, typed: bytes = b"", **more: str) -> Done:
        """Run in a thread of this process, because a separate process takes a second to start."""
        return await asyncio.to_thread(self._main, arguments, typed, more)

    def _main(self, arguments: Sequence[str], typed: bytes, more: dict[str, str]) -> Done:
        out, err = _Output(), _Output()
        code = 0
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "argv", ["memory-agent", *arguments])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed), "utf-8"))
            patch.setattr(os, "environ", self.environment | more)
            patch.setattr(Path, "cwd", lambda: self.home)
            try:
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0
        return Done(code, out.text(), err.text())

    async def execute(self, *arguments: str | bytes, typed: bytes = b"", **more: str) -> Done:
        """Run as a separate process."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            env=self.environment | {"PYTHONPATH": str(ROOT)} | more,
            cwd=self.home,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(typed), 60)
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), err.decode())


class _Output(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", newline="")

    def text(self) -> str:
        self.flush()
        written = self.buffer
        assert isinstance(written, io.BytesIO)
        return written.getvalue().decode()
