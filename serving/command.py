"""The command line of a service, built from its settings."""

import inspect
import sys
from collections.abc import Callable, Collection
from typing import Annotated, Any, TypeVar

import typer

from serving.errors import ServiceError
from serving.service import Service
from serving.settings import ServerSettings, Setting, settings_of

S = TypeVar("S", bound=ServerSettings)

# The least at which no name of a variable is broken in two.
_HELP_WIDTH = 84
_MIGRATING = ("database_url", "data_dir", "startup_timeout", "log_json", "log_level")


def command(service: Service[S]) -> typer.Typer:
    """The command that serves, with the subcommand `migrate` if the service supports it."""
    # Pretty tracebacks would show the values of variables, and with them passwords.
    app = typer.Typer(
        pretty_exceptions_enable=False,
        # Rich would cut off the names of long variables, and wrap errors into a box.
        rich_markup_mode=None,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "terminal_width": _HELP_WIDTH},
    )
    known = settings_of(service.settings)

    @app.callback(invoke_without_command=True, help=service.summary)
    @takes(known)
    def _serve(context: typer.Context, **values: Any) -> None:
        if context.invoked_subcommand is None:
            settings = service.settings(**values)
            service.configure_logs(settings)
            service.serve(settings)

    if service.migrate is not None:
        run_migration = service.migrate

        @app.command()
        @takes([setting for setting in known if setting.name in _MIGRATING])
        def migrate(**values: Any) -> None:
            """Migrate the database schema, then exit."""
            settings = service.settings(**values)
            service.configure_logs(settings)
            run_migration(settings)

    return app


def run(app: typer.Typer, name: str) -> None:
    """Run the command; report an error that the operator can solve in one line."""
    try:
        app()
    except ServiceError as error:
        sys.stderr.write(f"{name}: {error}\n")
        sys.exit(error.exit_code)


def takes(
    settings: Collection[Setting],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
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
                    typer.Option(_flags(setting), envvar=setting.env, help=setting.meaning),
                ],
            )
            for setting in settings
        ]
        kept = [one for one in own if one.kind is not inspect.Parameter.VAR_KEYWORD]
        command.__signature__ = inspect.Signature([*kept, *flags])  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in [*kept, *flags]}
        return command

    return declare


def _flags(setting: Setting) -> str:
    """The flag; a setting that is on by default also gets a --no- flag."""
    if setting.default is True:
        return f"{setting.flag}/--no-{setting.flag.removeprefix('--')}"
    return setting.flag
