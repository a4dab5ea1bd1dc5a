"""Results as pytest outcomes: passed, failed, skipped, an error or a warning."""

import warnings
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeVar

import pytest

from harness.background import BackgroundRun
from harness.errors import HarnessError
from harness.render.story import story
from harness.report import Report, Result
from harness.settings import Settings
from harness.target import Target

Awaited = TypeVar("Awaited", Result, Report)


class ConformanceWarning(UserWarning):
    """The plugin conforms without this, but would be better with it."""


class SelectedRun:
    """The checks that the session selected, and their results as pytest outcomes."""

    def __init__(self, target: Target, settings: Settings, selected: Collection[str]) -> None:
        left_out = [check.id for check in settings.checks() if check.id not in selected]
        exclude = (*settings.exclude, *left_out)
        self._background = BackgroundRun(target, replace(settings, exclude=exclude))
        self._told = False
        self.stop = self._background.stop

    def result(self, check_id: str) -> Result:
        """The result of a check; skips or errors if it was not judged."""
        result = self._wait(lambda: self._background.result(check_id))
        if result.outcome == "error":
            pytest.fail(story(result), pytrace=False)
        if result.outcome in ("unsupported", "excluded", "blocked"):
            pytest.skip(result.message or result.outcome)
        return result

    def report(self) -> Report:
        """The report on all of them."""
        return self._wait(self._background.report)

    def _wait(self, wait: Callable[[], Awaited]) -> Awaited:
        try:
            return wait()
        except HarnessError as error:
            reason = str(error)
        if self._told:
            pytest.skip(f"not run: {reason}")
        # Only once: the same sentence a hundred times would be overlooked.
        self._told = True
        pytest.fail(reason, pytrace=False)


def judge_check(result: Result, item: pytest.Item) -> None:
    """Fail, warn, or pass the test of a check that was judged."""
    if result.outcome == "fail":
        pytest.fail(story(result), pytrace=False)
    if result.outcome == "warn":
        warn(item, f"{result.id}\n{story(result)}")


def judge_verdict(report: Report, item: pytest.Item) -> None:
    """Fail unless the plugin was shown to be conformant."""
    if report.left_behind:
        warn(item, f"could not be deleted: {', '.join(report.left_behind)}")
    if report.verdict != "conformant":
        pytest.fail(f"{report.verdict}: {report.reason}", pytrace=False)


def warn(item: pytest.Item, text: str) -> None:
    """A warning for the summary; `warnings.warn` would fail the test under `-W error`."""
    message = warnings.WarningMessage(
        ConformanceWarning(text), ConformanceWarning, item.nodeid, lineno=1
    )
    item.ihook.pytest_warning_recorded.call_historic(
        kwargs={
            "warning_message": message,
            "when": "runtest",
            "nodeid": item.nodeid,
            "location": None,
        }
    )
