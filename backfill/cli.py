"""`memory-backfill`: the options, and what they start."""

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from typer.core import TyperCommand

from backfill.errors import BackfillError
from backfill.main import Mode, run_mode
from backfill.progress import printable
from backfill.run import Options
from backfill.selection import Selection
from backfill.target import PATIENCE

DEFAULT_SAMPLE = 50
_HELP = """Copy an installation's memories to a memory plugin, and prove that nothing was lost.

Give exactly one of -dry-run, -apply and -verify, with one dash or two.

\b
A cutover, step by step:
  export DATABASE_URL=postgres://... MEMORY_PLUGIN_URL=http://your-plugin:9100
  memory-backfill -dry-run
  memory-backfill -apply
  memory-backfill -verify -verify-sample=200
  memory-backfill -verify --verify-all --json parity.json

\b
One workspace, at a limited rate, with the rejected rows in a file of your choice:
  memory-backfill -apply -workspace=018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11 \\
      --max-rps 20 --rejects rejected.ndjson
"""
_EPILOG = """
\b
Exit codes:
  0  done, or parity proven
  1  mismatches or rejected rows
  2  wrong usage or configuration; nothing was changed
  3  the source or the target is unavailable, or the run was interrupted;
     the same command continues where it stopped
  4  no mismatch was found, but some rows could not be proven
  5  the plugin breaks the contract; retrying does not help

\b
Environment: DATABASE_URL, MEMORY_PLUGIN_URL, MEMORY_PLUGIN_TOKEN, and
MEMORY_PLUGIN_TIMEOUT for one request (60s; batches and lists always have 60s).
"""

app = typer.Typer(
    name="memory-backfill",
    add_completion=False,
    rich_markup_mode=None,
    # A traceback with local variables would show memories and passwords.
    pretty_exceptions_enable=False,
)


class _Command(TyperCommand):
    """Names an unknown option as it was typed; the parser would call `-aply` `-a`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        takes_value = {
            name: not getattr(option, "is_flag", False)
            for option in self.get_params(ctx)
            for name in option.opts
        }
        rest = iter(args)
        for argument in rest:
            name, equals, _ = argument.partition("=")
            if name in takes_value:
                if takes_value[name] and not equals:
                    next(rest, None)
            elif name.startswith("-"):
                ctx.fail(f"No such option: {name}{_suggestion(name, list(takes_value))}")
        return super().parse_args(ctx, args)


def _suggestion(typed: str, options: list[str]) -> str:
    """The closest option, with as many dashes as were typed if it has such a form."""
    words = {option.lstrip("-") for option in options}
    nearest = get_close_matches(typed.lstrip("-"), words, n=1)
    if not nearest:
        return ""
    forms = [option for option in options if option.lstrip("-") == nearest[0]]
    forms.sort(key=lambda form: form.startswith("--") != typed.startswith("--"))
    return f". Did you mean {forms[0]}?"


@app.command(
    cls=_Command,
    help=_HELP,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def backfill(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-dry-run", help="Show what an apply would do.")
    ] = False,
    apply: Annotated[
        bool,
        typer.Option(
            "--apply", "-apply", help="Copy the rows; run it again to continue or repair."
        ),
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", "-verify", help="Compare both sides row by row.")
    ] = False,
    workspace: Annotated[
        UUID | None, typer.Option("--workspace", "-workspace", help="Only this workspace's rows.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-limit", min=1, help="Only the oldest N rows.")
    ] = None,
    verify_sample: Annotated[
        int | None,
        typer.Option(
            "--verify-sample",
            "-verify-sample",
            min=1,
            show_default=str(DEFAULT_SAMPLE),
            help="Compare at most N workspaces.",
        ),
    ] = None,
    verify_all: Annotated[
        bool, typer.Option("--verify-all", help="Compare all workspaces.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Repeat the sample of an earlier run.")] = None,
    no_extras: Annotated[
        bool,
        typer.Option("--no-extras", help="Count rows that exist only on the target as mismatches."),
    ] = False,
    max_diffs: Annotated[int, typer.Option(min=0, help="Print at most N differences.")] = 100,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1, max=100, help="Concurrent requests; by default 4 batches or 32 single writes."
        ),
    ] = None,
    max_rps: Annotated[
        float | None, typer.Option(min=0.01, help="Send at most N requests per second.")
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds to wait for a plugin that is busy or down.")
    ] = PATIENCE,
    json: Annotated[
        Path | None, typer.Option(help="Write the report to this file, as JSON.")
    ] = None,
    rejects: Annotated[
        Path | None,
        typer.Option(
            help="Write rejected rows to this file, one JSON object per line; default: a new file."
        ),
    ] = None,
    show_content: Annotated[
        bool,
        typer.Option(
            "--show-content", help="Print memory content in reports; it may contain secrets."
        ),
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Write every row again, ignoring earlier runs.")
    ] = False,
    state_dir: Annotated[
        Path | None, typer.Option(help="Directory for the journal of an apply.")
    ] = None,
    database_url: Annotated[
        str, typer.Option(envvar="DATABASE_URL", help="The legacy database.")
    ] = "",
    plugin_url: Annotated[
        str, typer.Option(envvar="MEMORY_PLUGIN_URL", help="The plugin to copy to.")
    ] = "",
) -> None:
    """Read the options and start the requested mode."""
    modes: list[Mode] = []
    if dry_run:
        modes.append("dry-run")
    if apply:
        modes.append("apply")
    if verify:
        modes.append("verify")
    if len(modes) != 1:
        raise typer.BadParameter("give exactly one of -dry-run, -apply and -verify")
    if verify_all and (verify_sample is not None or seed is not None):
        raise typer.BadParameter(
            "--verify-all compares all workspaces: leave out -verify-sample and --seed"
        )
    if not database_url:
        raise typer.BadParameter("set DATABASE_URL, or give --database-url")
    if not plugin_url:
        raise typer.BadParameter("set MEMORY_PLUGIN_URL, or give --plugin-url")
    options = Options(
        database_url=database_url,
        plugin_url=plugin_url,
        selection=Selection(workspace, limit),
        state_dir=state_dir or _default_state_dir(),
        request_timeout=os.environ.get("MEMORY_PLUGIN_TIMEOUT") or None,
        verify_sample=None if verify_all else verify_sample or DEFAULT_SAMPLE,
        seed=seed,
        concurrency=concurrency,
        max_rps=max_rps,
        patience=patience,
        max_diffs=max_diffs,
        no_extras=no_extras,
        json=json,
        rejects=rejects,
        show_content=show_content,
        restart=restart,
    )
    try:
        code = run_mode(modes[0], options)
    except BackfillError as error:
        typer.echo(f"memory-backfill: {printable(str(error))}", err=True)
        raise typer.Exit(error.exit_code) from None
    raise typer.Exit(code)


def _default_state_dir() -> Path:
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "memory-backfill"


def main() -> None:
    """The console script."""
    app()


if __name__ == "__main__":
    main()
