"""The pytest front: each check is one test that carries the check's id.

    pytest --memory-plugin-url http://localhost:9100

or, in a test module, a class that starts the plugin itself: see `ConformanceSuite`.

The checks run concurrently in the background; each test waits for its own result. A check that does
not apply is skipped; an unmet `should` is a warning, which `-W error` does not turn into a failure.
The last test is the verdict: a session of skips must not look conformant.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.errors import ConfigurationError
from harness.pytest_judge import SelectedRun, judge_check, judge_verdict
from harness.report import Report, Result
from harness.settings import Settings
from harness.target import Target

_SUITE = pytest.StashKey["UrlSuite"]()


@pytest.mark.memory_plugin_check
class ConformanceSuite:
    """Subclass it, with a class-scoped fixture `memory_plugin`.

        class TestMyPlugin(ConformanceSuite):
            settings = Settings(profile="core")

            @pytest.fixture(scope="class")
            @classmethod
            def memory_plugin(cls):
                with my_plugin_on_a_free_port() as url:
                    yield url

    The fixture returns a URL, `unix:/path` or an ASGI application. It may also be in the module or
    in a conftest.py. `settings` are the options of a run, the commands of the operational profile
    included. With pytest-xdist, `--dist loadscope` keeps the checks together.
    """

    settings: ClassVar[Settings] = Settings()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each check of the settings."""
        if "check_id" in metafunc.fixturenames:
            metafunc.parametrize("check_id", [check.id for check in self.settings.checks()])

    @pytest.fixture(scope="class")
    @classmethod
    def conformance_run(
        cls, request: pytest.FixtureRequest, memory_plugin: Target
    ) -> Iterator[SelectedRun]:
        names = {
            item.name
            for item in request.session.items
            if isinstance(item, pytest.Function) and item.cls is cls
        }
        checks = cls.settings.checks()
        selected = {check.id for check in checks if f"test_check[{check.id}]" in names}
        run = SelectedRun(memory_plugin, cls.settings, selected)
        yield run
        run.stop()

    @pytest.fixture
    def conformance_result(self, check_id: str, conformance_run: SelectedRun) -> Result:
        return conformance_run.result(check_id)

    @pytest.fixture
    def conformance_report(self, conformance_run: SelectedRun) -> Report:
        return conformance_run.report()

    def test_check(self, conformance_result: Result, request: pytest.FixtureRequest) -> None:
        """The plugin keeps one sentence of the contract."""
        judge_check(conformance_result, request.node)

    def test_verdict(self, conformance_report: Report, request: pytest.FixtureRequest) -> None:
        """All of the contract was checked, and the plugin keeps it."""
        judge_verdict(conformance_report, request.node)


class UrlSuite(pytest.Collector):
    """The checks against `--memory-plugin-url`, as tests of the session."""

    def __init__(self, url: str, settings: Settings, **node: Any) -> None:
        super().__init__(**node)
        self.url = url
        self.settings = settings
        self.add_marker("memory_plugin_check")

    def collect(self) -> Iterator[pytest.Item]:
        for check in self.settings.checks():
            yield CheckItem.from_parent(self, name=check.id)
        yield VerdictItem.from_parent(self, name="verdict")

    @cached_property
    def run(self) -> SelectedRun:
        """Starts with the first test that asks for a result."""
        selected = {item.name for item in self.session.items if item.parent is self}
        return SelectedRun(self.url, self.settings, selected)

    def stop(self) -> None:
        """Clean up, if it has started."""
        if "run" in vars(self):
            self.run.stop()


class UrlItem(pytest.Item):
    """A test that belongs to no file."""

    parent: UrlSuite

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.name} (memory plugin)"


class CheckItem(UrlItem):
    """One check."""

    def setup(self) -> None:
        self.outcome = self.parent.run.result(self.name)

    def runtest(self) -> None:
        judge_check(self.outcome, self)


class VerdictItem(UrlItem):
    """All of them."""

    def setup(self) -> None:
        self.report = self.parent.run.report()

    def runtest(self) -> None:
        judge_verdict(self.report, self)


class NothingRun:
    """Makes a session fail that asked for checks and judged none."""

    def __init__(self, config: pytest.Config) -> None:
        self._asked = bool(config.option.memory_plugin_url) and not config.option.collectonly
        self._judged = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "memory_plugin_check" in report.keywords:
            self._asked = True
            self._judged |= report.when == "call" and not report.skipped

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._asked and not self._judged and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._asked and not self._judged:
            line = "No checks of the memory plugin ran, so this is not a pass."
            terminalreporter.write_line(line, red=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `memory-harness run` that make sense here."""
    group = parser.getgroup("memory-plugin", "conformance of a memory plugin")
    # An installed distribution has already added them through its entry point.
    with suppress(ValueError):
        group.addoption(
            "--memory-plugin-url",
            metavar="URL",
            help="check the plugin at http://host:port or unix:/path against the contract",
        )
        group.addoption("--memory-plugin-profile", choices=("core", "full"), default="full")
        group.addoption(
            "--memory-plugin-timeout", metavar="SECONDS", type=float, help="time for one request"
        )
        group.addoption(
            "--memory-plugin-seed",
            metavar="N",
            type=int,
            help="repeat the generated cases of an earlier run",
        )


def pytest_report_header(config: pytest.Config) -> str | None:
    """The plugin under test, and the seed."""
    option = config.option
    if not option.memory_plugin_url:
        return None
    return (
        f"memory plugin: {option.memory_plugin_url}, profile {option.memory_plugin_profile},"
        f" seed {_given(option.memory_plugin_seed, Settings.seed)}"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker that distinguishes checks from other tests."""
    config.addinivalue_line(
        "markers", "memory_plugin_check: a check of a memory plugin's conformance, or its verdict"
    )
    config.pluginmanager.register(NothingRun(config))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add the checks before others select among the items."""
    option = session.config.option
    if not option.memory_plugin_url:
        return
    try:
        settings = Settings(
            profile=option.memory_plugin_profile,
            timeout=_given(option.memory_plugin_timeout, Settings.timeout),
            seed=_given(option.memory_plugin_seed, Settings.seed),
            token=os.environ.get("MEMORY_PLUGIN_TOKEN") or None,
        )
    except ConfigurationError as error:
        raise pytest.UsageError(str(error)) from None
    suite = UrlSuite.from_parent(
        session,
        name="memory-plugin",
        nodeid="memory-plugin",
        url=option.memory_plugin_url,
        settings=settings,
    )
    session.stash[_SUITE] = suite
    items.extend(session.genitems(suite))


def _given(value: float | None, default: float) -> Any:
    return default if value is None else value


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Clean up in the plugin, also after Ctrl-C."""
    suite = session.stash.get(_SUITE, None)
    if suite is not None:
        suite.stop()
