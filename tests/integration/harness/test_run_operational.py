"""The operational checks, with commands as an author gives them."""

import subprocess
import sys
from pathlib import Path

from harness import Report, Settings, run
from harness.example import ExamplePlugin, Store
from tests.integration.backfill.example import ForgetfulStore, serving

RESTART = """
set -e
if [ -f {pid} ]; then
  kill -INT $(cat {pid})
  while [ -S {socket} ]; do sleep 0.05; done
fi
{python} -m harness.cli serve-example --listen unix:{socket} >/dev/null 2>&1 &
echo $! > {pid}
while [ ! -S {socket} ]; do sleep 0.05; done
"""
STOP = "kill -INT $(cat {pid}); while [ -S {socket} ]; do sleep 0.05; done"


def outcomes(report: Report) -> dict[str, str]:
    return {result.id: result.outcome for result in report.results if result.area == "operational"}


def test_a_plugin_that_forgets_when_it_restarts_fails(tmp_path: Path) -> None:
    names = {
        "socket": tmp_path / "p.sock",
        "pid": tmp_path / "pid",
        "python": sys.executable,
    }
    shell = Settings(only=("operational",), restart_cmd=RESTART.format(**names))
    shell_out(RESTART.format(**names))
    try:
        report = run(f"unix:{names['socket']}", shell)
    finally:
        shell_out(STOP.format(**names))
    judged = outcomes(report)
    assert judged["operational.survives-a-restart"] == "fail"
    assert judged["operational.keeps-what-it-acknowledged"] == "fail"
    assert report.verdict == "not conformant"


def test_a_plugin_that_answers_without_its_store_fails() -> None:
    report = run(
        ExamplePlugin(Store()).app,
        Settings(only=("operational",), store_down_cmd="true", store_up_cmd="true"),
    )
    (failed,) = report.failures()
    assert failed.id == "operational.503-while-the-store-is-down"
    assert failed.expected == "503 for GET /v1/health"


def test_a_failing_command_is_reported_and_is_not_a_failure_of_the_plugin() -> None:
    report = run(
        ExamplePlugin(Store()).app,
        Settings(only=("operational.survives-a-restart",), restart_cmd="echo no; exit 7"),
    )
    (error,) = report.failures()
    assert error.outcome == "error"
    assert error.message is not None
    assert "failed with exit code 7: no" in error.message
    assert report.verdict == "partial"


def backfilled(store: Store, cluster: str) -> Report:
    with serving(ExamplePlugin(store).app) as url:
        return run(url, Settings(only=("operational.backfill-twice",), legacy_url=cluster))


def test_a_backfill_can_be_repeated_and_leaves_nothing_behind(cluster: str) -> None:
    store = Store()
    report = backfilled(store, cluster)
    assert outcomes(report)["operational.backfill-twice"] == "pass", report.failures()
    assert store.spaces == {}


def test_a_plugin_that_loses_a_row_of_the_backfill_fails(cluster: str) -> None:
    store = ForgetfulStore()
    report = backfilled(store, cluster)
    assert outcomes(report)["operational.backfill-twice"] == "fail"
    assert [name for name in store.spaces if not name.startswith("custom:conformance")] == []


def shell_out(command: str) -> None:
    subprocess.run(["/bin/sh", "-c", command], check=True, timeout=60)
