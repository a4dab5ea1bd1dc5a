"""The engine: runs the checks of a profile and tells reporters what happens."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version

from contract import CONTRACT_VERSION, openapi
from harness.check import Check
from harness.curl import body_of
from harness.report import OUTCOMES, Plugin, Report, Result, compare, decide
from harness.session import Session, open_session
from harness.settings import Settings
from harness.target import Target


@dataclass(frozen=True)
class RunStarted:
    """The plugin has answered; these checks will be reported."""

    run: str
    plugin: Plugin
    checks: Sequence[Check]


@dataclass(frozen=True)
class CheckFinished:
    """One check has its result."""

    result: Result


@dataclass(frozen=True)
class RunFinished:
    """All checks have their results and everything is cleaned up."""

    report: Report


Event = RunStarted | CheckFinished | RunFinished
Reporter = Callable[[Event], None]


def run(
    target: Target,
    settings: Settings | None = None,
    *,
    reporters: Sequence[Reporter] = (),
    baseline: Report | None = None,
) -> Report:
    """Check a plugin against the contract and report the results.

    `target` is a URL, `unix:/path`, or an ASGI application, which is then run in this process.
    Raises `ConfigurationError` for invalid options and `Unreachable` if no plugin answers;
    everything that the plugin does wrong is in the report.
    """
    return asyncio.run(run_async(target, settings, reporters=reporters, baseline=baseline))


async def run_async(
    target: Target,
    settings: Settings | None = None,
    *,
    reporters: Sequence[Reporter] = (),
    baseline: Report | None = None,
) -> Report:
    """`run` for callers that already have an event loop."""
    settings = settings or Settings()

    def emit(event: Event) -> None:
        for reporter in reporters:
            reporter(event)

    started_at, start = datetime.now(UTC), time.monotonic()
    checks = settings.checks()
    async with open_session(target, settings) as session:
        emit(RunStarted(session.run, session.plugin, checks))
        results = await _attempt_all(session, checks, emit)
    verdict, reason = decide(results, reachable=session.gone is None)
    counts = Counter(result.outcome for result in results)
    report = Report(
        verdict=verdict,
        reason=reason,
        profile=settings.profile,
        run=session.run,
        seed=settings.seed,
        harness_version=harness_version(),
        contract_version=CONTRACT_VERSION,
        openapi_sha256=openapi_sha256(),
        started_at=started_at,
        duration_seconds=round(time.monotonic() - start, 3),
        plugin=session.plugin,
        counts={outcome: counts[outcome] for outcome in OUTCOMES},
        results=results,
        left_behind=session.left_behind,
        baseline=None if baseline is None else compare(results, baseline),
    )
    emit(RunFinished(report))
    return report


async def _attempt_all(
    session: Session, checks: Sequence[Check], emit: Callable[[Event], None]
) -> list[Result]:
    """Results in the order of the checks; those that must run alone come after all others."""

    async def one(check: Check) -> Result:
        result = await session.attempt(check)
        emit(CheckFinished(result))
        return result

    results: dict[str, Result] = {}
    async with asyncio.TaskGroup() as group:
        together = [group.create_task(one(check)) for check in checks if not check.alone]
    for task in together:
        results[task.result().id] = task.result()
    for check in checks:
        if check.alone:
            results[check.id] = await one(check)
    return [results[check.id] for check in checks]


@cache
def openapi_sha256() -> str:
    """The hash of the OpenAPI document that the checks were written against."""
    return sha256(body_of(openapi())).hexdigest()


def harness_version() -> str:
    """The installed version, or `0` when it runs from a copied folder."""
    try:
        return version("memory-plugins")
    except PackageNotFoundError:
        return "0"
