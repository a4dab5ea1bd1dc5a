"""The conformance suite for memory plugins.

    from harness import Settings, run

    report = run("http://localhost:9100", Settings(profile="core"))
    assert report.verdict == "conformant", report.reason

`run` also takes an ASGI application. `open_session` is for fronts that run checks one by one.
"""

from harness.check import Check, all_checks, check, find_check
from harness.errors import ConfigurationError, Failure, HarnessError, Unreachable
from harness.report import Comparison, Plugin, Report, Result, load_report
from harness.runner import (
    CheckFinished,
    Event,
    Reporter,
    RunFinished,
    RunStarted,
    run,
    run_async,
)
from harness.session import Session, open_session
from harness.settings import Settings
from harness.trial import Trial

__all__ = [
    "Check",
    "CheckFinished",
    "Comparison",
    "ConfigurationError",
    "Event",
    "Failure",
    "HarnessError",
    "Plugin",
    "Report",
    "Reporter",
    "Result",
    "RunFinished",
    "RunStarted",
    "Session",
    "Settings",
    "Trial",
    "Unreachable",
    "all_checks",
    "check",
    "find_check",
    "load_report",
    "open_session",
    "run",
    "run_async",
]
