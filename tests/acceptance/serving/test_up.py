"""`make up`: all servers on one embedded PostgreSQL, ended by one Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.integration.postgres.server import SECONDS, nothing_runs

ROOT = Path(__file__).parents[3]
SERVERS = {"PLUGIN", "GATEWAY", "RECALL", "CONVERSATIONS"}


@contextmanager
def up(data_dir: Path) -> Iterator["subprocess.Popen[str]"]:
    """As the Makefile does it, on sockets and data that nobody else uses."""
    environment = {**os.environ, "MEMORY_PLUGIN_URL": f"unix:{data_dir}/PLUGIN.sock"}
    for name in SERVERS:
        environment[f"MEMORY_{name}_LISTEN_ADDR"] = f"unix:{data_dir}/{name}.sock"
        environment[f"MEMORY_{name}_DATA_DIR"] = str(data_dir)
    honcho = str(Path(sys.executable).with_name("honcho"))
    process = subprocess.Popen(
        [honcho, "--no-colour", "start"],
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
            os.kill(process.pid, signal.SIGINT)
            process.stdout.read()
            process.wait(SECONDS)
        # On a busy machine honcho kills what takes longer than 5 s; nothing runs on even then.
        nothing_runs(data_dir)
