"""The pytest front: each check is one test that carries the check's id.

    pytest --memory-plugin-url http://localhost:9100

or, in a test module, a class that starts the plugin itself: see `ConformanceSuite`.

The checks run side by side in the background; each test waits for its own result. A check that
does not apply is skipped, a `should` that is not met is a warning that no `-W error` turns into a
failure. The last test is the verdict, because a session of skips must not look conformant.
"""

from collections.abc import Iterator
from typing import ClassVar, TypeVar

import pytest

from harness.report import Report, Result
from harness.settings import Settings
from harness.target import Target

MARKER = "memory_plugin_check"
_JUDGED = pytest.StashKey[bool]()
_SUITE = pytest.StashKey["UrlSuite"]()

Outcome = TypeVar("Outcome", Result, Report)


class ConformanceWarning(UserWarning):
    """The plugin is conformant without this, and better with it."""


@pytest.mark.memory_plugin_check
class ConformanceSuite:
    """Subclass it and give it a fixture `memory_plugin` that lives as long as the class.

        class TestMyPlugin(ConformanceSuite):
            settings = Settings(profile="core")

            @pytest.fixture(scope="class")
            @classmethod
            def memory_plugin(cls):
                with my_plugin_on_a_free_port() as url:
                    yield url

    The fixture gives a URL, `unix:/path` or an ASGI application; it may also stand in the module or in
    a conftest.py. `settings` are the options of the run.
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
    ) -> Iterator["Judge"]:
        """The checks that this session selected, running in the background."""
        selected = {
            item.callspec.params.get("check_id")
            for item in request.session.items
            if isinstance(item, pytest.Function) and item.cls is cls and hasattr(item, "callspec")
        }
        judge = Judge(memory_plugin, cls.settings, selected)
        yield judge
        judge.stop()

    @pytest.fixture
    def conformance_result(self, check_id: str, conformance_run: "Judge") -> Result:
        """The result of one check, when it is there."""
        return conformance_run.wait_for(check_id)

    @pytest.fixture
    def conformance_report(self, conformance_run: "Judge") -> Report:
        """The report on all checks, when they have run."""
        return conformance_run.wait_for_report()

    def test_check(self, conformance_result: Result, request: pytest.FixtureRequest) -> None:
        judge(conformance_result, request.node)

    def test_verdict(self, conformance_report: Report) -> None:
        judge_report(conformance_report)
