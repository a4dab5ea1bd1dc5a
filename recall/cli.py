"""The command `memory-recall`."""

from recall.app import create_app, prepare
from recall.protocol import PassingProtocol
from recall.settings import Settings
from serving.command import command, run
from serving.service import Service

SERVICE = Service(
    name="memory-recall",
    summary="Give any chat client a memory: proxy, REST, MCP tools and a dashboard.",
    package="recall",
    settings=Settings,
    prepare=prepare,
    create_app=create_app,
    http=PassingProtocol,
)
app = command(SERVICE)


def main() -> None:
    """Run the command."""
    run(app, SERVICE.name)
