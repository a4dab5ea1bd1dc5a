"""HTTP load on the plugin: with wrk if it is installed, else with our own generator."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from bench.measure import Sample

_WRK = shutil.which("wrk")
_SCRIPT = Path(__file__).with_name("wrk.lua")
_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}
_SEPARATOR = "\x00"

GENERATOR = "wrk" if _WRK else "bench.generator (wrk is not installed)"


class LoadFailed(Exception):
    """Requests were refused or not answered, so the figures would mean nothing."""


def post(path: str, body: object, **headers: str) -> str:
    """One request, as it goes over the wire."""
    text = json.dumps(body)
    size = len(text.encode())
    return f"POST {path} HTTP/1.1\r\n{_lines(headers)}Content-Length: {size}\r\n\r\n{text}"


def get(path: str, **headers: str) -> str:
    """The same without a body."""
    return f"GET {path} HTTP/1.1\r\n{_lines(headers)}\r\n"


def _lines(headers: Mapping[str, str]) -> str:
    named = {"host": "plugin", **headers}
    return "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items())


def send(url: str, requests: list[str], *, connections: int, seconds: float) -> Sample:
    """Send the requests in turn over `connections` connections.

    Returns requests per second, p50 and p99 in ms, and the processor time of the plugin and of
    PostgreSQL per request in µs, which shows where the time goes.
    """
    run = _by_wrk if _WRK else _by_generator
    before = _processor_seconds()
    figures = run(url, requests, connections, seconds)
    after = _processor_seconds()
    if figures["failures"]:
        raise LoadFailed(f"{figures['failures']:.0f} of {figures['requests']:.0f} requests failed")
    rate = figures["requests"] / figures["seconds"]
    # A process that ended meanwhile is left out: its time would be subtracted.
    used = {
        who: sum(seconds - before[who].get(pid, 0.0) for pid, seconds in processes.items())
        for who, processes in after.items()
    }
    spent = {f"{who}_us": seconds / figures["requests"] * 1e6 for who, seconds in used.items()}
    return Sample(rate, {"p50": figures["p50"], "p99": figures["p99"], **spent})


def _processor_seconds() -> dict[str, dict[int, float]]:
    """What each process of the plugin and of PostgreSQL has used so far, by process id.

    Everything else that we started counts as the plugin.
    """
    ours = {process.pid for process in psutil.Process().children(recursive=True)}
    spent: dict[str, dict[int, float]] = {"plugin": {}, "postgres": {}}
    for process in psutil.process_iter(["name", "cpu_times"]):
        times = process.info["cpu_times"]
        if times is not None and process.info["name"] == "postgres":
            spent["postgres"][process.pid] = times.user + times.system
        elif times is not None and process.pid in ours:
            spent["plugin"][process.pid] = times.user + times.system
    return spent


def _by_generator(
    url: str, requests: list[str], connections: int, seconds: float
) -> dict[str, float]:
    address = urlsplit(url)
    order = {
        "host": address.hostname,
        "port": address.port,
        "connections": connections,
        "seconds": seconds,
        "requests": requests,
    }
    command = [sys.executable, "-m", "bench.generator"]
    done = subprocess.run(
        command, input=json.dumps(order), capture_output=True, text=True, check=True
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _by_wrk(url: str, requests: list[str], connections: int, seconds: float) -> dict[str, float]:
    assert _WRK is not None
    with tempfile.NamedTemporaryFile("w", suffix=".requests", newline="") as file:
        file.write(_SEPARATOR.join(requests))
        file.flush()
        command = [_WRK, "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout=30s"]
        command += ["--latency", "-s", str(_SCRIPT), url, "--", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return _read(done.stdout)


def _read(text: str) -> dict[str, float]:
    def number(pattern: str) -> float:
        found = re.search(pattern, text)
        return float(found[1]) if found else 0.0

    def milliseconds(percent: int) -> float:
        found = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s|m)\s*$", text, re.MULTILINE)
        if found is None:
            raise LoadFailed(f"wrk printed no latencies: {text[:500]}")
        return float(found[1]) * _UNITS[found[2]]

    total = re.search(r"(\d+) requests in ([\d.]+)(ms|s|m)", text)
    if total is None:
        raise LoadFailed(f"wrk printed no requests: {text[:500]}")
    sockets = re.search(
        r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text
    )
    return {
        "requests": float(total[1]),
        "seconds": float(total[2]) * _UNITS[total[3]] / 1000,
        "failures": number(r"Non-2xx or 3xx responses: (\d+)")
        + (sum(map(float, sockets.groups())) if sockets else 0),
        "p50": milliseconds(50),
        "p99": milliseconds(99),
    }
