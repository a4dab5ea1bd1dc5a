"""One run from the preflight to the exit code."""

import asyncio
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from typing import Any, Literal

import uvloop

from backfill import report
from backfill.apply import apply
from backfill.dryrun import dry_run
from backfill.errors import BackfillError, ConfigurationError, Interrupted
from backfill.plan import make_plan
from backfill.progress import Reporter, printable
from backfill.rejects import Rejects
from backfill.run import Options, Run
from backfill.source import describe, open_legacy
from backfill.target import open_target
from backfill.verify import verify

Mode = Literal["dry-run", "apply", "verify"]

_INTERRUPTED = "interrupted; run the same command again to continue where it stopped"


def run_mode(mode: Mode, options: Options) -> int:
    """Run the requested mode; returns the exit code, raises `BackfillError`."""
    head = {
        "mode": mode,
        "source": describe(options.database_url),
        "target": _without_password(options.plugin_url),
        "selection": str(options.selection),
    }
    try:
        if options.json is not None:
            # The report of an earlier run must not be mistaken for this one's.
            report.write_json(options.json, head)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_until_interrupted(mode, options, head))
    except KeyboardInterrupt:
        raise Interrupted(_INTERRUPTED) from None
    except BackfillError as error:
        if options.json is not None and not isinstance(error, ConfigurationError):
            failure = {"error": str(error), "exit_code": error.exit_code}
            report.write_json(options.json, head | failure)
        raise


async def _until_interrupted(mode: Mode, options: Options, head: dict[str, Any]) -> int:
    loop = asyncio.get_running_loop()
    work = asyncio.create_task(_run(mode, options, head))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, work.cancel)
    try:
        return await work
    except asyncio.CancelledError:
        raise Interrupted(_INTERRUPTED) from None


async def _run(mode: Mode, options: Options, head: dict[str, Any]) -> int:
    rejects = Rejects(
        None if mode == "verify" else options.rejects,
        show_content=options.show_content,
        keep=mode == "apply",
    )
    with Reporter() as reporter, rejects:
        async with (
            open_legacy(options.database_url) as legacy,
            open_target(
                options.plugin_url,
                reporter,
                request_timeout=options.request_timeout,
                max_rps=options.max_rps,
                patience=options.patience,
            ) as target,
        ):
            run = Run(options, legacy, target, reporter)
            offers = target.capabilities | (target.extensions & {"batch", "list"})
            reporter.say(
                f"from {head['source']} to {head['target']}: {options.selection}; the plugin offers"
                f" {', '.join(sorted(offers)) or 'nothing more'}"
            )
            workspaces = await legacy.workspaces()
            plan = make_plan(workspaces, await legacy.survey(options.selection))
            chosen = options.selection.workspace
            if chosen is not None and chosen not in workspaces and not plan.pairs:
                raise ConfigurationError(f"the legacy tables have no workspace {chosen}")
            started = time.monotonic()
            if mode == "dry-run":
                forecast = await dry_run(run, plan, rejects)
                code = report.rejects_code(rejects)
                _say(report.forecast_lines(forecast, rejects, target))
                _keep(options, head | report.forecast_json(forecast, rejects), code)
            elif mode == "apply":
                tally = await apply(run, plan, rejects)
                seconds = time.monotonic() - started
                code = report.rejects_code(rejects)
                _say(report.tally_lines(tally, target, seconds))
                oddities = workspaces.oddities(plan.known_workspaces())
                content = report.tally_json(tally, seconds) | {"oddities": oddities}
                _keep(options, head | content, code)
            else:
                result = await verify(run, plan)
                code = result.exit_code
                with closing(result.findings) as found:
                    _say(report.verification_lines(result, options.max_diffs, options.no_extras))
                    lists = {"differences": found.differences(), "extra_rows": found.extra_rows()}
                    _keep(options, head | report.verification_json(result), code, lists)
            return code


def _without_password(url: str) -> str:
    """The client refuses such an address, but the refusal must not repeat it."""
    scheme, separator, rest = url.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{printable(line)}\n")
    sys.stdout.flush()


def _keep(options: Options, content: dict[str, Any], code: int, lists: Any = None) -> None:
    if options.json is not None:
        report.write_json(options.json, {**content, "exit_code": code}, lists)
