"""`memory-backfill` as a process, as an operator starts it."""

import os
import subprocess
import sys
from pathlib import Path

from tests.integration.backfill.command import Command
from tests.waiting import SECONDS


def start(command: Command, *arguments: str) -> subprocess.Popen[str]:
    """The console script, with nothing but the environment to tell it where to go."""
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("memory-backfill")), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=command.directory,
        env={
            **os.environ,
            "DATABASE_URL": command.database_url,
            "MEMORY_PLUGIN_URL": command.plugin_url,
            "XDG_STATE_HOME": str(command.directory / "state-home"),
        },
    )


def run(command: Command, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    process = start(command, *arguments)
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err
