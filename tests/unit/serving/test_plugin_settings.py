"""An address or a token of a plugin that makes no sense is refused before anything starts."""

from collections.abc import Callable
from functools import partial

import pytest

from conversations.settings import Settings as Conversations
from gateway.settings import Settings as Gateway
from recall.settings import Settings as Recall
from serving.errors import BadSetting
from serving.plugin import PluginSettings

SERVICES: list[Callable[..., PluginSettings]] = [
    partial(Conversations, dev_auth=True),
    Gateway,
    Recall,
]


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    "url", ["plugin", "ftp://host", "unix:relative", "http://u:p@host", "http://host:port"]
)
def test_an_address_that_no_client_can_use_names_its_flag(
    service: Callable[..., PluginSettings], url: str
) -> None:
    with pytest.raises(BadSetting, match="--plugin-url"):
        service(plugin_url=url)


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("url", [None, "http://host:9100", "https://host", "unix:/run/plugin.sock"])
def test_an_address_of_a_plugin_is_taken(
    service: Callable[..., PluginSettings], url: str | None
) -> None:
    assert service(plugin_url=url).plugin_url == url


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("token", ["", " ", "ü", "line\nbreak"])
def test_a_token_that_no_header_can_hold_names_its_flag(
    service: Callable[..., PluginSettings], token: str
) -> None:
    with pytest.raises(BadSetting, match="--plugin-token"):
        service(plugin_token=token)
