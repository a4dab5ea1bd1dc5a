"""The command lines of all servers."""

import pytest
from typer import Typer
from typer.testing import CliRunner

from conversations import cli as conversations
from conversations.settings import Settings as Conversations
from gateway import cli as gateway
from gateway.settings import Settings as Gateway
from plugin_postgres import cli as plugin
from plugin_postgres.settings import Settings as Plugin
from recall import cli as recall
from recall.settings import Settings as Recall
from serving.settings import BaseSettings, settings_of

# A terminal of the usual width, or none.
NARROW = {"COLUMNS": "80"}

EVERY_SERVER = pytest.mark.parametrize(
    ("app", "settings"),
    [
        (plugin.app, Plugin),
        (gateway.app, Gateway),
        (recall.app, Recall),
        (conversations.app, Conversations),
    ],
    ids=["plugin", "gateway", "recall", "conversations"],
)


@EVERY_SERVER
@pytest.mark.parametrize("asked", ["-h", "--help"])
def test_the_help_names_every_flag_and_variable(
    app: Typer, settings: type[BaseSettings], asked: str
) -> None:
    result = CliRunner().invoke(app, [asked], env=NARROW)
    assert result.exit_code == 0
    for setting in settings_of(settings):
        assert setting.flag in result.output
        assert setting.env in result.output


@EVERY_SERVER
def test_a_flag_of_the_wrong_type_is_refused_in_one_line(
    app: Typer, settings: type[BaseSettings]
) -> None:
    [workers] = [setting for setting in settings_of(settings) if setting.name == "workers"]
    result = CliRunner().invoke(app, ["--workers", "many"], env=NARROW)
    assert result.exit_code == 2
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    assert workers.flag in last
    assert workers.env in last
