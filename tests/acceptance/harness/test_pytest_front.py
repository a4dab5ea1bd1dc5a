"""The pytest front: against a URL, and as a class in an author's own tests."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import psutil
import pytest
from starlette.requests import Request
from starlette.responses import Response

from contract import SearchRequest
from harness import Settings
from harness.example import ExamplePlugin, Store, create_app
from tests.integration.backfill.example import serving
from tests.waiting import SECONDS, until

pytest_plugins = ["pytester"]


# Here, because pytester forgets the modules that a test of its imports.
CORE, FULL = (
    [check.id for check in Settings(profile=profile).checks()] for profile in ("core", "full")
)
RunResult = pytest.RunResult
Run = Callable[..., RunResult]


class Forgetless(Store):
    """Says that it forgot a memory, and keeps it."""

    def forget(self, key: object, requested_by: str) -> None:
        pass


class Plain(ExamplePlugin):
    """Calls its JSON plain text, which it should not."""

    async def health(self, request: Request) -> Response:
        answer = await super().health(request)
        answer.headers["content-type"] = "text/plain"
        return answer


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunResult]:
    """pytest in a process of its own, with no other plugins than ours, which makes it fast."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def start(*arguments: str) -> RunResult:
        return pytester.runpytest_subprocess("-v", "-p", "harness.pytest_plugin", *arguments)

    return start


def test_each_check_is_a_test_with_its_id_and_the_verdict_is_the_last(
    pytester: pytest.Pytester,
) -> None:
    url = "--memory-plugin-url=http://127.0.0.1:1"
    result = pytester.runpytest_subprocess("--collect-only", "-q", "-p", "no:randomly", url)
    assert result.ret == pytest.ExitCode.OK
    listed = [line for line in result.outlines if line.startswith("memory-plugin::")]
    assert listed == [f"memory-plugin::{name}" for name in [*FULL, "verdict"]]


def test_a_good_plugin_is_green(run: Run) -> None:
    with serving(create_app()) as url:
        result = run(f"--memory-plugin-url={url}", "-k", "memory-plugin and health")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            f"memory plugin: {url}, profile full, seed 0",
            "memory-plugin::health.sends-json-as-json PASSED*",
        ]
    )
    assert set(result.parseoutcomes()) == {"passed", "deselected"}


def test_a_broken_plugin_is_red_and_the_reader_learns_why(run: Run) -> None:
    with serving(ExamplePlugin(Forgetless()).app) as url:
        result = run(f"--memory-plugin-url={url}", "-k", "removes-the-memory or verdict")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "memory-plugin::forget.removes-the-memory FAILED*",
            "memory-plugin::verdict FAILED*",
            "contract: DELETE /v1/memories/{id} *",
            "expected: *",
            "got: *",
            "repeat it with:",
            f"curl * '{url}/v1/*",
            "not conformant: 1 check failed: forget.removes-the-memory.",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.assert_outcomes(failed=2, deselected=result.parseoutcomes()["deselected"])


def test_what_the_plugin_does_not_claim_is_skipped_with_the_reason(
    run: Run,
) -> None:
    with serving(create_app(["ttl"], [])) as url:
        result = run(f"--memory-plugin-url={url}", "-rs", "-k", "fts.case or unknown-id")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines("SKIPPED *the plugin does not claim fts")
    result.stdout.fnmatch_lines("memory-plugin::forget.unknown-id PASSED*")


def test_a_warning_is_shown_and_is_not_an_error_when_warnings_are_errors(
    run: Run,
) -> None:
    check_id = "health.sends-json-as-json"
    with serving(Plain(Store()).app) as url:
        result = run(f"--memory-plugin-url={url}", "-W", "error", "-k", check_id)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines([f"*{check_id} PASSED*", "*got: text/plain*"])
    assert result.parseoutcomes()["warnings"] == 1


def test_a_run_without_checks_never_passes(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_of_the_author(): pass")
    with serving(create_app([], [])) as url:
        deselected = run(f"--memory-plugin-url={url}", "-k", "of_the_author")
        skipped = run(f"--memory-plugin-url={url}", "-k", "of_the_author or fts.case")
    for result in (deselected, skipped):
        assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
        assert result.parseoutcomes()["passed"] == 1
        result.stdout.fnmatch_lines("No checks of the memory plugin ran, so this is not a pass.")


def test_leaving_checks_out_gives_no_conformant_verdict(
    run: Run,
) -> None:
    with serving(create_app()) as url:
        result = run(f"--memory-plugin-url={url}", "-k", "unknown-id or verdict")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines("partial: * excluded: a verdict needs all of them.")


def test_a_missing_plugin_is_reported_once(run: Run) -> None:
    result = run("--memory-plugin-url=http://127.0.0.1:1", "-k", "forget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    outcomes = result.parseoutcomes()
    assert outcomes["errors"] == 1
    assert "passed" not in outcomes
    result.stdout.fnmatch_lines("no memory plugin responds at http://127.0.0.1:1: *")


def test_invalid_options_are_refused(run: Run) -> None:
    result = run("--memory-plugin-url=http://127.0.0.1:1", "--memory-plugin-timeout=0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*the timeout must be more than 0 seconds*")


def test_workers_of_xdist_share_the_tests(run: Run) -> None:
    with serving(create_app()) as url:
        result = run(f"--memory-plugin-url={url}", "-p", "xdist", "-n", "2", "-k", "forget")
    assert result.ret == pytest.ExitCode.OK
    assert result.parseoutcomes()["passed"] > 5


def test_only_the_selected_checks_reach_the_plugin(run: Run) -> None:
    queries: list[str | None] = []

    class Listening(Store):
        def search(self, body: SearchRequest) -> list[object]:  # type: ignore[override]
            queries.append(body.query)
            return list(super().search(body))

    with serving(ExamplePlugin(Listening()).app) as url:
        run(f"--memory-plugin-url={url}", "-k", "unknown-id")
    assert queries
    assert not any(queries)


class Held(ExamplePlugin):
    """Does not answer whoever wants a sixth namespace."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.is_asked = threading.Event()

    async def put_namespace(self, request: Request) -> Response:
        if len(self.store.spaces) == 5:
            self.is_asked.set()
            while (await request.receive())["type"] != "http.disconnect":
                pass
            return Response()
        return await super().put_namespace(request)


def test_ctrl_c_leaves_nothing_in_the_plugin(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    plugin = Held(Store())
    command = [sys.executable, "-m", "pytest", "-p", "harness.pytest_plugin", "-k", "ttl"]
    with serving(plugin.app) as url:
        process = subprocess.Popen(
            [*command, f"--memory-plugin-url={url}"], cwd=pytester.path, stdout=subprocess.PIPE
        )
        # In the middle of a check: pytest itself does not survive a signal at every moment.
        assert plugin.is_asked.wait(SECONDS)
        until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_SLEEPING)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert plugin.store.spaces == {}


SUITE = """
import pytest
from harness import Settings
from harness.example import ExamplePlugin, Store
from harness.pytest_plugin import ConformanceSuite

class Forgetless(Store):
    def forget(self, key, requested_by):
        pass

class TestGood(ConformanceSuite):
    settings = Settings(profile="core")

    @pytest.fixture(scope="class")
    @classmethod
    def memory_plugin(cls):
        store = Store()
        yield ExamplePlugin(store).app
        assert not store.spaces

class TestBad(ConformanceSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def memory_plugin(cls):
        return ExamplePlugin(Forgetless()).app

class TestPartial(TestGood):
    settings = Settings(profile="core", exclude=("concurrency",))
"""


def test_a_class_runs_the_checks_against_what_its_fixture_starts(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_mine=SUITE)
    result = run("-W", "error", "-k", "TestGood or (TestBad and removes-the-memory)")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "test_mine.py::TestGood::test_check[[]forget.removes-the-memory] PASSED*",
            "test_mine.py::TestGood::test_verdict PASSED*",
            "test_mine.py::TestBad::test_check[[]forget.removes-the-memory] FAILED*",
        ]
    )
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1
    assert outcomes["passed"] == len(CORE) + 1


def test_a_class_that_excludes_checks_gets_no_verdict_of_conformance(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_mine=SUITE)
    result = run("-rs", "-k", "TestPartial and (forget or verdict)")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*TestPartial::test_verdict FAILED*",
            "partial: * excluded: a verdict needs all of them.",
            "SKIPPED * excluded by --exclude concurrency",
        ]
    )
