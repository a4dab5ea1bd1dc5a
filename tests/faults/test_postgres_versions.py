"""The plugin on other PostgreSQL servers than the embedded one, without pgvector: conformant.

Those of the system are found by themselves; more are named by TEST_POSTGRES_BINS, folders of
programs with colons between.
"""

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from postgres.account import account_for, as_user
from tests.acceptance.command import program, running
from tests.faults.cluster import directory, free_port

FOLDERS = [
    *sorted(Path("/usr/lib/postgresql").glob("*/bin")),
    *(Path(it) for it in os.environ.get("TEST_POSTGRES_BINS", "").split(":") if it),
]
SECONDS = 60

pytestmark = pytest.mark.timeout(900)


@contextmanager
def server(programs: Path, folder: Path) -> Iterator[str]:
    """The URL of a new server of these programs."""
    user = as_user(account_for(folder))
    port = free_port()
    environment = {**os.environ, "LD_LIBRARY_PATH": str(programs.parent / "lib"), "LC_ALL": "C"}
    data = str(folder / "data")
    initdb = [str(programs / "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8"]
    subprocess.run(
        initdb, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL, **user
    )
    command = [str(programs / "postgres"), "-D", data, "-k", str(folder), "-p", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stderr=log, **user)
    try:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        process.terminate()
        process.wait(SECONDS)


@pytest.mark.skipif(not FOLDERS, reason="there is no other PostgreSQL here")
@pytest.mark.parametrize("programs", FOLDERS, ids=lambda folder: folder.parent.name)
def test_without_pgvector_everything_else_conforms(programs: Path) -> None:
    with (
        directory("version") as folder,
        server(programs, folder) as url,
        running("--listen=127.0.0.1:0", f"--database-url={url}") as plugin,
    ):
        assert [line for line in plugin.lines if "serving without embeddings" in line]
        harness = subprocess.run(
            [*program("memory-harness"), "run", plugin.address, "--timeout", "60"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert harness.returncode == 0, harness.stdout[-4000:]
        assert not re.search(r"Traceback", "\n".join(plugin.lines))
