"""`memory-harness`: run the checks against a plugin, read about them, clean up, serve the example."""

from typing import Annotated

import typer

from harness.errors import HarnessError
from harness.example.serve import serve
from harness.report import EXIT_CONFIGURATION

app = typer.Typer(
    name="memory-harness",
    help="Shows whether a memory plugin keeps the contract.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command("serve-example")
def serve_example(
    listen: Annotated[
        str, typer.Option(help="host:port, :port or unix:/path; port 0 takes a free one.")
    ] = "127.0.0.1:9100",
    without: Annotated[
        list[str] | None, typer.Option(help="Switch off a capability or an extension.")
    ] = None,
) -> None:
    """Serve the in-memory example plugin until Ctrl-C."""
    try:
        serve(listen, without or [])
    except HarnessError as error:
        typer.echo(f"memory-harness: {error}", err=True)
        raise typer.Exit(EXIT_CONFIGURATION) from None


def main() -> None:
    """The console script."""
    app()


if __name__ == "__main__":
    main()
