"""Rulings 2 and 24: the real command, with nothing configured."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.acceptance.command import Running, running
from tests.waiting import SECONDS, until

COMMAND = "memory-gateway"


def started(data_dir: Path, *flags: str) -> Any:
    return running("--listen=127.0.0.1:0", f"--data-dir={data_dir}", *flags, command=COMMAND)


def plugin_of(gateway: Running) -> psutil.Process | None:
    for child in psutil.Process(gateway.process.pid).children():
        with suppress(psutil.NoSuchProcess):  # a zombie is none, either
            if any("memory-plugin-postgres" in part for part in child.cmdline()):
                return child
    return None


def found(http: httpx.Client, query: str, **credentials: str) -> list[dict[str, Any]] | None:
    body = {**credentials, "query": query, "scope": ["all_user_memory"]}
    try:
        answer = http.post("/memories/search", json=body)
    except httpx.HTTPError:
        return None
    results: list[dict[str, Any]] = answer.json().get("results", [])
    return results if answer.status_code == 200 else None


def say(http: httpx.Client, session: str, text: str, **credentials: str) -> None:
    message = {"sender_id": "ann", "role": "user", "timestamp": 5, "content": text}
    body = {**credentials, "session_id": session}
    http.post("/memories/add", json={**body, "messages": [message]}).raise_for_status()
    http.post("/memories/flush", json=body).raise_for_status()


def test_ruling_24_it_runs_with_nothing_configured_and_leaves_no_child(tmp_path: Path) -> None:
    with started(tmp_path) as gateway:
        with httpx.Client(base_url=gateway.address, timeout=SECONDS) as http:
            # It asks the plugin, and does not wait for it for long.
            until(lambda: http.get("/health").json()["status"] == "ok")
            user = http.post("/users", json={"user_id": "ann"}).json()
            key = {"user_id": "ann", "user_key": user["user_key"]}
            say(http, "chat:1", "The ship is red", **key)
            until(lambda: found(http, "ship", **key))
            # The child is restarted when it dies.
            first = plugin_of(gateway)
            assert first is not None
            first.kill()
            until(lambda: (again := plugin_of(gateway)) and again.pid != first.pid)
            until(lambda: found(http, "ship", **key))
        last = plugin_of(gateway)
        assert last is not None
        child = last
        # kill -9 of the gateway: the child ends, too.
        os.kill(gateway.process.pid, signal.SIGKILL)
        gateway.process.wait()
        until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    # What it left behind does not stop the next start, and nothing is lost.
    with (
        started(tmp_path) as gateway,
        httpx.Client(base_url=gateway.address, timeout=SECONDS) as http,
    ):
        until(lambda: found(http, "ship", **key))
        last = plugin_of(gateway)
        assert last is not None
        assert gateway.stop() == 0
        until(lambda: not last.is_running())


def test_ruling_2_a_unix_socket_is_this_machine(tmp_path: Path) -> None:
    path = tmp_path / "gateway.sock"
    flags = (f"--listen=unix:{path}", f"--data-dir={tmp_path / 'data'}")
    with running(*flags, command=COMMAND):
        transport = httpx.HTTPTransport(uds=str(path))
        with httpx.Client(transport=transport, base_url="http://gateway", timeout=SECONDS) as http:
            assert http.post("/users", json={"user_id": "ann"}).status_code == 201


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--llm-url=http://127.0.0.1:1/v1"], "--llm-model"),
        (["--embed-model=x"], "--embed-url"),
        (["--llm-url=127.0.0.1:11434/v1", "--llm-model=x"], "--llm-url"),
        (["--embed-url=http://host:port/v1", "--embed-model=x"], "--embed-url"),
        (["--idle-flush=-1"], "--idle-flush"),
        (["--idle-flush=inf"], "--idle-flush"),
        (["--idle-flush=1e12"], "--idle-flush"),
        (["--admin-token=ü"], "--admin-token"),
        (["--embed-api-key=ü"], "--embed-api-key"),
        (["--plugin-token=ü"], "--plugin-token"),
    ],
)
def test_invalid_settings_are_reported_in_one_line(
    tmp_path: Path, flags: list[str], told: str
) -> None:
    program = str(Path(sys.executable).with_name(COMMAND))
    done = subprocess.run(
        [program, f"--data-dir={tmp_path}", *flags],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 2
    [line] = done.stderr.strip().splitlines()
    assert told in line
