"""`memory-harness`: run the checks, read about them, clean up, serve the example."""

import asyncio
import os
import random
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from contract.address import Address
from harness.check import Profile, all_checks, find_check
from harness.errors import ConfigurationError, HarnessError, Unreachable
from harness.example.serve import serve
from harness.exchange import Recorder
from harness.ledger import clean_up
from harness.progress import Progressed
from harness.render import FORMATS
from harness.report import EXIT_CODES, EXIT_CONFIGURATION, load_report
from harness.runner import run as run_checks
from harness.session import identify
from harness.settings import Settings
from harness.target import connect, describe

EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="memory-harness",
    help="Check whether a memory plugin conforms to the contract.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_show_locals=False,
)

Url = Annotated[
    str | None,
    typer.Argument(
        help="http://host:port or unix:/path; default: $MEMORY_PLUGIN_URL.", show_default=False
    ),
]
Timeout = Annotated[float, typer.Option(help="Seconds that one request may take.")]


@app.command()
def run(
    url: Url = None,
    profile: Annotated[
        Profile,
        typer.Option(help="core; full adds what the plugin claims; operational adds restarts."),
    ] = "full",
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run only these ids, areas or patterns (verdict: partial)."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Leave out these ids, areas or patterns (verdict: partial)."),
    ] = None,
    timeout: Timeout = 20.0,
    json: Annotated[Path | None, typer.Option(help="Write the JSON report.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML for CI.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write an HTML page.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write Markdown.")] = None,
    badge: Annotated[Path | None, typer.Option(help="Write an SVG badge.")] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="An earlier JSON report; a regression is exit code 1.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Repeat the generated cases of an earlier run.")
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option(help="Embedding dimension, for a plugin that supports only one."),
    ] = None,
    parallel: Annotated[int, typer.Option(help="Number of checks to run at a time.")] = 12,
    restart_cmd: Annotated[
        str | None,
        typer.Option(
            help="Command that restarts the plugin; it must return when the plugin is up."
        ),
    ] = None,
    store_down_cmd: Annotated[
        str | None, typer.Option(help="Command that stops the plugin's store.")
    ] = None,
    store_up_cmd: Annotated[
        str | None, typer.Option(help="Command that starts the store again.")
    ] = None,
    legacy_url: Annotated[
        str | None,
        typer.Option(help="PostgreSQL server for a temporary legacy database to backfill."),
    ] = None,
) -> None:
    """Check the plugin at URL against the contract.

    Exit codes: 0 conformant, 1 not conformant or worse than --baseline, 2 configuration,
    3 no plugin responds, 4 partial: something was excluded or could not be judged.
    """
    paths = {"json": json, "junit": junit, "html": html, "markdown": markdown, "badge": badge}
    console = Console()
    with _exit_codes():
        settings = Settings(
            profile=profile,
            only=tuple(only or ()),
            exclude=tuple(exclude or ()),
            timeout=timeout,
            seed=random.randrange(2**32) if seed is None else seed,  # noqa: S311
            dimension=dimension,
            parallel=parallel,
            token=os.environ.get("MEMORY_PLUGIN_TOKEN") or None,
            restart_cmd=restart_cmd,
            store_down_cmd=store_down_cmd,
            store_up_cmd=store_up_cmd,
            legacy_url=legacy_url,
        )
        earlier = load_report(baseline) if baseline else None
        files = {name: _writable(path) for name, path in paths.items() if path}
        with Progressed(console, live=console.is_terminal) as progressed:
            report = run_checks(_target(url), settings, reporters=[progressed], baseline=earlier)
        for name, path in files.items():
            path.write_text(FORMATS[name](report), encoding="utf-8")
    raise typer.Exit(report.exit_code)


@app.command("list")
def list_checks(
    pattern: Annotated[
        str | None, typer.Argument(help="An area or a pattern.", show_default=False)
    ] = None,
) -> None:
    """List the checks: id, level, what it needs, its profile."""
    checks = [check for check in all_checks() if pattern is None or check.matches(pattern)]
    table = Table("id", "level", "needs", "profile", box=None, header_style="bold", pad_edge=False)
    for check in checks:
        table.add_row(check.id, check.level, " ".join(check.needs), check.profile)
    width = None if Console().is_terminal else 160
    Console(width=width).print(table)
    with _exit_codes():
        if not checks:
            raise ConfigurationError(f"no check matches {pattern!r}")


@app.command()
def explain(check_id: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Explain a check: what it requires, and how it tests that."""
    with _exit_codes():
        check = find_check(check_id)
        if check is None:
            close = [other.id for other in all_checks() if other.matches(f"*{check_id}*")]
            hint = f"; did you mean {' or '.join(close[:3])}?" if close else ""
            raise ConfigurationError(f"there is no check {check_id!r}{hint}")
    console = Console()
    console.print(f"[bold]{check.id}[/]  {check.level}, {check.profile}", highlight=False)
    if check.needs:
        console.print(f"needs {', '.join(check.needs)}", highlight=False)
    console.print(f"\n[italic]{escape(check.sentence)}[/]\n", highlight=False)
    console.print(check.explanation, markup=False, highlight=False)
    console.print(
        f"\nmemory-harness run URL --only {shlex.quote(check.id)}", markup=False, highlight=False
    )


@app.command()
def cleanup(url: Url = None, timeout: Timeout = 20.0) -> None:
    """Remove what killed runs left in a plugin. Do not use it during another run."""

    async def remove() -> tuple[list[str], list[str]]:
        target = _target(url)
        async with connect(target, os.environ.get("MEMORY_PLUGIN_TOKEN") or None) as wire:
            recorder = Recorder(wire, timeout)
            await identify(recorder, describe(target))
            return await clean_up(recorder)

    with _exit_codes():
        removed, left = asyncio.run(remove())
    typer.echo(_removed(len(removed)))
    if left:
        typer.echo(f"could not be deleted: {', '.join(left)}", err=True)
        raise typer.Exit(EXIT_CODES["not conformant"])


@app.command("serve-example")
def serve_example(
    listen: Annotated[
        str, typer.Option(help="host:port, :port or unix:/path; port 0 picks a free port.")
    ] = "127.0.0.1:9100",
    without: Annotated[
        list[str] | None, typer.Option(help="Turn off a capability or an extension.")
    ] = None,
) -> None:
    """Serve the in-memory example plugin until Ctrl-C."""
    with _exit_codes():
        serve(listen, without or [])


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Turn what stops a command into a sentence on stderr and the matching exit code."""
    try:
        yield
    except HarnessError as error:
        typer.echo(f"memory-harness: {error}", err=True)
        unreachable = isinstance(error, Unreachable)
        code = EXIT_CODES["unreachable"] if unreachable else EXIT_CONFIGURATION
        raise typer.Exit(code) from None
    except KeyboardInterrupt:
        typer.echo("memory-harness: interrupted; everything it created was deleted", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None


def _removed(runs: int) -> str:
    if not runs:
        return "nothing to remove"
    return f"removed the namespaces of {runs} {'run' if runs == 1 else 'runs'}"


def _target(url: str | None) -> str:
    try:
        return str(Address.find(url))
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def _writable(path: Path) -> Path:
    """Fail before a long run if its report could not be written after it."""
    try:
        path.touch()
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror}") from None
    return path


def main() -> None:
    """The console script."""
    app()


if __name__ == "__main__":
    main()
