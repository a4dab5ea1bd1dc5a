"""The command `memory-recall`."""

from typing import Annotated, Any

import typer

from recall.app import create_app, prepare, stores
from recall.errors import bad_request_body
from recall.memory import is_owner
from recall.protocol import PassingProtocol
from recall.settings import Settings
from serving.command import command, run, takes
from serving.errors import BadSetting
from serving.service import Service, stop_on_signals
from serving.settings import settings_of

SERVICE = Service(
    name="memory-recall",
    summary="Add memory to any chat client: proxy, REST API, MCP tools and a dashboard.",
    package="recall",
    settings=Settings,
    prepare=prepare,
    create_app=create_app,
    http=PassingProtocol,
    bad_request=bad_request_body,
)
app = command(SERVICE)
_MCP_SETTINGS = (
    *("database_url", "data_dir", "skip_migrate", "startup_timeout", "plugin_url", "plugin_token"),
    *("embedding_key", "log_json", "log_level"),
)


@app.command()
@takes([one for one in settings_of(Settings) if one.name in _MCP_SETTINGS])
def mcp(
    context: typer.Context,
    owner: Annotated[
        str | None,
        typer.Option(help="Serve only the memories of this owner; default: all owners."),
    ] = None,
    **values: Any,
) -> None:
    """Serve the MCP tools on stdin and stdout, for an editor to start."""
    from recall.mcp_stdio import serve_stdio  # the SDK takes a second to load

    if owner is not None and not is_owner(owner):
        raise BadSetting("--owner must have 1 to 200 characters, without control characters")
    settings = Settings(**_with_flags_before(context, values))
    SERVICE.configure_logs(settings)
    stop_on_signals()
    with stores(settings) as settings:
        serve_stdio(settings, owner)


def _with_flags_before(context: typer.Context, values: dict[str, Any]) -> dict[str, Any]:
    """The values, including options given before `mcp`, which apply to it too."""
    before = {} if context.parent is None else context.parent.params

    def is_left_out(name: str) -> bool:
        source = context.get_parameter_source(name)
        return source is not None and source.name == "DEFAULT"

    return {
        name: before.get(name, value) if is_left_out(name) else value
        for name, value in values.items()
    }


def main() -> None:
    """Run the command."""
    run(app, SERVICE.name)
