"""The command `memory-plugin-postgres`: serves, or with `migrate` only migrates."""

import asyncio
import inspect
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Annotated, Any

import typer

from plugin_postgres import logs, startup
from plugin_postgres.errors import PluginError
from plugin_postgres.serve import database, serve
from plugin_postgres.settings import SETTINGS, Settings

_MIGRATING = ("database_url", "data_dir", "startup_timeout", "log_json", "log_level")

# Pretty tracebacks would show the values of variables, and with them passwords.
app = typer.Typer(
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command; an error that is the operator's to solve is told in one line."""
    try:
        app()
    except PluginError as error:
        sys.stderr.write(f"memory-plugin-postgres: {error}\n")
        sys.exit(error.exit_code)


def _takes(names: Collection[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the flags and environment variables of these settings."""

    def declare(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command).parameters.values())
        flags = [
            inspect.Parameter(
                setting.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=setting.default,
                annotation=Annotated[
                    setting.kind,
                    typer.Option(setting.flag, envvar=setting.env, help=setting.meaning),
                ],
            )
            for setting in SETTINGS
            if setting.name in names
        ]
        kept = [one for one in own if one.kind is not inspect.Parameter.VAR_KEYWORD]
        command.__signature__ = inspect.Signature([*kept, *flags])  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in [*kept, *flags]}
        return command

    return declare


@app.callback(invoke_without_command=True)
@_takes([setting.name for setting in SETTINGS])
def _serve(context: typer.Context, **values: Any) -> None:
    """Serve the memory plugin contract on PostgreSQL."""
    if context.invoked_subcommand is None:
        settings = Settings(**values)
        logs.configure(level=settings.log_level, as_json=settings.log_json)
        serve(settings)


@app.command()
@_takes(_MIGRATING)
def migrate(**values: Any) -> None:
    """Bring the database's schema up to date, and exit."""
    settings = Settings(**values)
    logs.configure(level=settings.log_level, as_json=settings.log_json)
    with database(settings) as settings:
        asyncio.run(startup.prepare(replace(settings, skip_migrate=False)))
