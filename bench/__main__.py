"""`python -m bench`: run the measures, print the table, write JSON, Markdown and a plot."""

import signal
import sys
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from typer import echo

from bench import plot, report
from bench.catalog import CATALOG, Source
from bench.load import GENERATOR
from bench.measure import Result, take_turns
from bench.stage import Stage, machine, stage

_QUICK_SECONDS = 1.0

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
def run(
    groups: Annotated[
        list[str] | None,
        typer.Argument(help=f"Groups to run, of {', '.join(CATALOG)}; default: all."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Number of rounds.")] = 9,
    seconds: Annotated[float, typer.Option(min=1, help="Seconds per round.")] = 2.0,
    quick: Annotated[
        bool,
        typer.Option(help="Few rows, two short rounds, no verdicts: only shows that it runs."),
    ] = False,
    out: Annotated[Path, typer.Option(help="Directory for the results.")] = Path("bench/results"),
) -> None:
    """Compare our servers with pgbench, plain SQL and other projects."""
    chosen = list(CATALOG) if not groups or groups == ["all"] else groups
    if unknown := set(chosen) - CATALOG.keys():
        raise typer.BadParameter(f"{', '.join(unknown)}: choose among {', '.join(CATALOG)}")
    if quick:
        repeats, seconds = 2, _QUICK_SECONDS
    conditions = {**machine(), "generator": GENERATOR, "repeats": repeats, "seconds": seconds}
    echo(f"load from {GENERATOR}, {repeats} rounds of {seconds:g} s")
    everything: list[Result] = []
    # Exit through the context managers, so that no server is left running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with stage(seconds=seconds, quick=quick) as prepared:
            for group in chosen:
                results: list[Result] = []
                try:
                    for source in CATALOG[group]:
                        results.extend(_run(source, prepared, repeats))
                finally:
                    # Keep what was measured before a failure, because it took long.
                    if results:
                        everything += results
                        files = report.write(out, group, results, conditions)
                        plot.write(out, results)
                        echo("written: " + ", ".join(map(str, files)))
    finally:
        if everything:
            report.show(everything)


def _run(source: Source, prepared: Stage, repeats: int) -> Iterator[Result]:
    measures = source(prepared)
    try:
        for measure in measures:
            judged = replace(measure, must=None, aim=None) if prepared.quick else measure
            yield take_turns(judged, repeats, echo)
    finally:
        # Clean up before the server stops, also after a failure.
        if isinstance(measures, Generator):
            measures.close()


if __name__ == "__main__":
    app()
