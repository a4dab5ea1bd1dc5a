"""The command `memory-conversations`."""

from conversations.app import NAME, bad_request_body, create_app, prepare
from conversations.settings import Settings
from serving.command import command, run
from serving.service import Service

SERVICE = Service(
    name=NAME,
    summary="Store conversations: messages, forks, sharing, search and resumable answers.",
    package="conversations",
    settings=Settings,
    prepare=prepare,
    create_app=create_app,
    bad_request=bad_request_body,
)
app = command(SERVICE)


def main() -> None:
    """What the console script calls."""
    run(app, SERVICE.name)
