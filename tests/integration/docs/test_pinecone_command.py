"""The Pinecone example and its stand-in, started and stopped as a reader does."""

import os
import signal
import subprocess
import sys

import pytest

from tests.unit.docs.pages import ROOT

EXAMPLE = ROOT / "docs" / "memory-plugins" / "pinecone-example"
SETTINGS = {"PINECONE_HOST": "http://127.0.0.1:1", "PINECONE_API_KEY": "stand-in"}


def start(*arguments: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=EXAMPLE,
        env={**os.environ, **environment},
        text=True,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize(
    "address", ["bad", "9100", "127.0.0.1:", "127.0.0.1:http", "localhost:99999"]
)
def test_an_invalid_address_is_refused_in_one_line(address: str) -> None:
    plugin = start("-m", "pinecone_plugin", **SETTINGS, MEMORY_PLUGIN_LISTEN_ADDR=address)
    [line] = plugin.communicate(timeout=60)[1].splitlines()
    assert line.startswith(f"MEMORY_PLUGIN_LISTEN_ADDR is {address!r}")
    assert plugin.returncode == 2


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_is_missing_is_named_in_one_line(name: str) -> None:
    others = {key: value for key, value in SETTINGS.items() if key != name}
    plugin = start("-m", "pinecone_plugin", **others)
    [line] = plugin.communicate(timeout=60)[1].splitlines()
    assert line.startswith(f"{name} is not set")
    assert plugin.returncode == 2


@pytest.mark.parametrize(
    "command", [("-m", "pinecone_plugin"), ("pinecone_standin.py",)], ids=lambda words: words[-1]
)
def test_ctrl_c_ends_it_quietly(command: tuple[str, ...]) -> None:
    loopback = {"MEMORY_PLUGIN_LISTEN_ADDR": "127.0.0.1:0", "STANDIN_LISTEN_ADDR": "127.0.0.1:0"}
    server = start(*command, **SETTINGS, **loopback)
    assert server.stderr is not None
    lines = iter(server.stderr.readline, "")
    assert any("Uvicorn running" in line for line in lines)
    server.send_signal(signal.SIGINT)
    rest = server.communicate(timeout=60)[1]
    assert "Traceback" not in rest
