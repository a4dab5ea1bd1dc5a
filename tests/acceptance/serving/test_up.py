"""`make up`: all servers on one embedded PostgreSQL, ended by one Ctrl-C."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from plugin_postgres.settings import Settings
from tests import timeouts
from tests.integration.postgres.server import nothing_runs
from tests.waiting import SECONDS

ROOT = Path(__file__).parents[3]
SERVERS = {"PLUGIN", "GATEWAY", "RECALL", "CONVERSATIONS"}


def recipe(target: str) -> str:
    """What `make` runs for a target, where everything is installed already."""
    stamp = ".venv/installed"
    command = ["make", "--silent", "--dry-run", f"--old-file={stamp}", f"STAMP={stamp}"]
    folder = f"BIN={Path(sys.executable).parent}"
    return subprocess.run(
        [*command, folder, target], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


@contextmanager
def up(data_dir: Path) -> Iterator["subprocess.Popen[str]"]:
    """As the Makefile does it, on sockets and data that nobody else uses."""
    environment = {
        **os.environ,
        **timeouts.ENVIRONMENT,
        "MEMORY_PLUGIN_URL": f"unix:{data_dir}/PLUGIN.sock",
    }
    for name in SERVERS:
        environment[f"MEMORY_{name}_LISTEN_ADDR"] = f"unix:{data_dir}/{name}.sock"
        environment[f"MEMORY_{name}_DATA_DIR"] = str(data_dir)
    kill_wait = re.compile(r"(?<=KILL_WAIT = )\d+")
    [seconds] = kill_wait.findall(command := recipe("up"))
    # On a quiet machine the servers need a little more than this; here they have any time.
    assert int(seconds) > 2 * Settings.shutdown_timeout
    process = subprocess.Popen(
        ["/bin/sh", "-c", kill_wait.sub(str(SECONDS), command)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
        process.kill()
        process.wait(SECONDS)
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def unfinished_request(path: Path) -> Iterator[None]:
    """A request whose body does not come: the server waits for it when it is told to stop."""
    head = "PUT /v1/namespaces/team:1 HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n"
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        yield


def test_all_servers_come_up_together_and_go_with_one_signal() -> None:
    with tempfile.TemporaryDirectory(prefix="mp-up-", ignore_cleanup_errors=True) as made:
        data_dir = Path(made)
        with up(data_dir) as process:
            assert process.stdout is not None
            listening: set[str] = set()
            said = []
            late = threading.Timer(SECONDS, process.kill)
            late.start()
            for line in process.stdout:
                said.append(line)
                if match := re.search(r"(\w+)\S* +\|.*listening", line):
                    listening.add(match[1])
                if len(listening) == len(SERVERS):
                    break
            late.cancel()
            assert listening == {name.lower() for name in SERVERS}, "".join(said)
            with unfinished_request(data_dir / "PLUGIN.sock"):
                os.kill(process.pid, signal.SIGINT)
                rest = process.stdout.read()
            process.wait(SECONDS)
            # The plugin has waited for the request as long as it is allowed to, and was not killed.
            assert "SIGTERM" in rest
            assert "SIGKILL" not in rest, rest
        nothing_runs(data_dir)
