"""`memory-harness` as people and CI run it: exit codes, sentences, files."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from typer.testing import CliRunner, Result

from harness import Report, all_checks
from harness.cli import app
from harness.example import ExamplePlugin, Store
from tests.integration.backfill.example import serving
from tests.waiting import SECONDS, until


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEMORY_PLUGIN_URL", "MEMORY_PLUGIN_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


class Keeps(Store):
    """Never forgets."""

    def forget(self, key: UUID, requested_by: str) -> None:
        pass


class Quiet(SimpleHTTPRequestHandler):
    """A plain web server."""

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def a_web_server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "harness.cli", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextmanager
def serving_example(address: str, *options: str) -> Iterator[str]:
    """The example in a process of its own, until Ctrl-C."""
    with start("serve-example", "--listen", address, *options) as example:
        assert example.stderr is not None
        try:
            assert example.stderr.readline() == f"listening on {address}\n"
            yield address
        finally:
            example.send_signal(signal.SIGINT)
        assert example.wait(timeout=SECONDS) == 0


# Exit codes


def test_0_conformant(tmp_path: Path) -> None:
    with serving_example(f"unix:{tmp_path}/p.sock") as url:
        result = call("run", url, "--profile", "core")
    assert result.exit_code == 0, result.output
    assert "conformant (core" in result.output


def test_1_not_conformant() -> None:
    with serving(ExamplePlugin(Keeps()).app) as url:
        result = call("run", url, "--only", "forget")
    assert result.exit_code == 1
    assert "fail forget.twice" in result.output
    assert "Forget of an unknown id: 404." in result.output
    assert f"curl -sS -i -X DELETE '{url}/v1/memories/" in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ftp://localhost"], "must be http://host:port"),
        (["http://127.0.0.1:1", "--only", "nothing"], "no check matches 'nothing'"),
        (["http://127.0.0.1:1", "--baseline", "/nowhere.json"], "cannot read the report"),
        (["http://127.0.0.1:1", "--json", "/nowhere/report.json"], "cannot write"),
        (["http://127.0.0.1:1", "--store-up-cmd", "true"], "must be given together"),
        (["http://127.0.0.1:1", "--timeout", "0"], "timeout"),
        (["http://127.0.0.1:1", "--profile", "all"], "'all' is not one of"),
    ],
)
def test_2_configuration(arguments: list[str], sentence: str) -> None:
    result = call("run", *arguments)
    assert result.exit_code == 2, result.output
    assert sentence in result.output


def test_3_a_closed_port() -> None:
    url = closed_port()
    result = call("run", url)
    assert result.exit_code == 3
    assert f"no memory plugin responds at {url}" in result.output
    assert "Is it running?" in result.output


def test_3_a_socket_that_is_not_there(tmp_path: Path) -> None:
    result = call("run", f"unix:{tmp_path}/nothing.sock")
    assert result.exit_code == 3
    assert "Is it running?" in result.output


def test_3_a_plain_web_server() -> None:
    with a_web_server() as url:
        result = call("run", url)
    assert result.exit_code == 3
    assert "it is not a memory plugin" in result.output
    assert "Is the address right?" in result.output


def test_3_a_plugin_that_hangs_within_its_timeout() -> None:
    # It accepts the connection and never answers.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        result = call("run", f"http://127.0.0.1:{listener.getsockname()[1]}", "--timeout", "0.5")
    assert result.exit_code == 3
    assert "no answer within 0.5 s" in result.output


def test_4_partial() -> None:
    with serving(ExamplePlugin(Store()).app) as url:
        result = call("run", url, "--only", "health", "--only", "forget.*")
    assert result.exit_code == 4
    assert "partial" in result.output


# Addresses


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(ExamplePlugin(Store()).app) as url:
        monkeypatch.setenv("MEMORY_PLUGIN_URL", url)
        result = call("run", "--only", "health")
    assert url in result.output
    assert result.exit_code == 4


def test_a_token_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plugin = ExamplePlugin(Keeps())
    sent: set[bytes | None] = set()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        sent.add(dict(scope["headers"]).get(b"authorization"))
        await plugin.app(scope, receive, send)

    monkeypatch.setenv("MEMORY_PLUGIN_TOKEN", "swordfish")
    with serving(guarded) as url:
        result = call("run", url, "--only", "forget", "--json", str(tmp_path / "report.json"))
    assert result.exit_code == 1
    assert sent == {b"Bearer swordfish"}
    assert "swordfish" not in result.output + (tmp_path / "report.json").read_text()
    assert "Bearer $MEMORY_PLUGIN_TOKEN" in result.output


# Reports


def test_every_format_is_written(tmp_path: Path) -> None:
    names = ("json", "junit", "html", "markdown", "badge")
    files = [argument for name in names for argument in (f"--{name}", f"{tmp_path}/{name}")]
    with serving(ExamplePlugin(Store()).app) as url:
        result = call("run", url, "--only", "health", "--seed", "7", *files)
    assert result.exit_code == 4, result.output
    report = Report.model_validate_json((tmp_path / "json").read_bytes())
    assert (report.seed, report.plugin.url) == (7, url)
    for name, start in (("junit", "<?xml"), ("html", "<!doctype html>"), ("badge", "<svg")):
        assert (tmp_path / name).read_text().lower().startswith(start)
    assert "Partial" in (tmp_path / "markdown").read_text()


def test_regressions_against_a_baseline_are_named(tmp_path: Path) -> None:
    baseline = str(tmp_path / "baseline.json")
    with serving(ExamplePlugin(Store()).app) as url:
        assert call("run", url, "--only", "forget", "--json", baseline).exit_code == 4
    with serving(ExamplePlugin(Keeps()).app) as url:
        result = call("run", url, "--only", "forget", "--baseline", baseline)
    assert result.exit_code == 1
    assert "regression forget.twice" in result.output
    assert "regression forget.bad-id" not in result.output


# Reading about checks


def test_list_names_every_check() -> None:
    result = call("list")
    assert result.exit_code == 0
    assert [check.id for check in all_checks() if check.id not in result.output] == []


def test_list_of_an_area() -> None:
    lines = call("list", "forget").output.splitlines()
    assert all(line.startswith(("id", "forget.")) for line in lines)
    assert call("list", "nothing").exit_code == 2


@pytest.mark.parametrize("check_id", [check.id for check in all_checks()][::20])
def test_explain_says_what_is_tested_and_how_to_run_it(check_id: str) -> None:
    result = call("explain", check_id)
    assert result.exit_code == 0
    assert f"memory-harness run URL --only {check_id}" in result.output


def test_explain_of_an_unknown_check_suggests_one() -> None:
    result = call("explain", "unknown-id")
    assert result.exit_code == 2
    assert "did you mean forget.unknown-id" in result.output


# Being interrupted, and cleaning up


def wait_until_busy(store: Store) -> None:
    until(lambda: len(store.spaces) >= 8)


def test_ctrl_c_leaves_nothing_behind() -> None:
    store = Store()
    with serving(ExamplePlugin(store).app) as url:
        run = start("run", url, "--profile", "core")
        wait_until_busy(store)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=SECONDS)
        assert run.returncode == 130
        assert "interrupted" in errors
        assert store.spaces == {}


def test_what_a_killed_run_left_is_removed_and_nothing_else() -> None:
    store = Store()
    plugin = ExamplePlugin(store)
    with serving(plugin.app) as url:
        run = start("run", url, "--profile", "core")
        wait_until_busy(store)
        run.kill()
        run.communicate(timeout=SECONDS)
        left = set(store.spaces)
        store.spaces["custom:mine"] = store.spaces[next(iter(left))]
        result = call("cleanup", url)
        assert result.exit_code == 0, result.output
        assert re.search(r"removed the namespaces of 1 run", result.output)
        assert set(store.spaces) == {"custom:mine"}
        again = call("cleanup", url)
    assert (again.exit_code, again.output) == (0, "nothing to remove\n")


def test_cleanup_of_a_closed_port() -> None:
    assert call("cleanup", closed_port()).exit_code == 3


# The example


def test_the_example_is_served_without_what_is_switched_off(tmp_path: Path) -> None:
    options = ("--without", "ttl", "--without", "list")
    report = tmp_path / "report.json"
    with serving_example(f"unix:{tmp_path}/p.sock", *options) as address:
        assert call("run", address, "--only", "health", "--json", str(report)).exit_code == 4
    offered = json.loads(report.read_text())["plugin"]
    assert offered["capabilities"] == ["embedding", "fts", "pin", "propagation"]
    assert offered["extensions"] == ["batch", "filter", "browse", "get"]
    assert not (tmp_path / "p.sock").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--listen", "nowhere"], "use host:port"),
        (["--without", "telepathy"], "choose from embedding"),
    ],
)
def test_the_example_refuses_invalid_options(arguments: list[str], sentence: str) -> None:
    result = call("serve-example", *arguments)
    assert result.exit_code == 2
    assert sentence in result.output
