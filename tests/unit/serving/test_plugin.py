"""The plugin that runs as a child: when it is given up, and whose socket is removed."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from serving import plugin
from serving.child import Child


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, as sockets need one."""
    with tempfile.TemporaryDirectory(prefix="mp-") as made:
        yield Path(made)


def test_a_child_that_migrates_for_long_is_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = folder / "plugin.sock"
    minutes: list[float] = []
    child = cast(Child, SimpleNamespace(is_alive=lambda: True))
    with socket.socket(socket.AF_UNIX) as listening:

        def sleep(_: float) -> None:
            minutes.append(60.0)
            if len(minutes) == 60:
                listening.bind(str(path))
                listening.listen()

        clock: Any = SimpleNamespace(monotonic=lambda: sum(minutes), sleep=sleep)
        monkeypatch.setattr(plugin, "time", clock)
        plugin._wait_until_it_listens(child, path)
    assert len(minutes) == 60
    assert "it may be migrating its database" in caplog.text


def test_only_the_sockets_of_processes_that_have_ended_are_removed(folder: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for owner in (ended.pid, os.getppid()):
        with socket.socket(socket.AF_UNIX) as bound:
            # The child of a process that is starting has bound its socket and does not listen yet.
            bound.bind(str(folder / f"toy-plugin-{owner}.sock"))
    with plugin._socket_path(folder, "toy") as path:
        assert path.parent == folder
        assert [it.name for it in folder.iterdir()] == [f"toy-plugin-{os.getppid()}.sock"]
