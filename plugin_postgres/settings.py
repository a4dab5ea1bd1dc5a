"""The settings of the plugin, in addition to those that all our servers share."""

from dataclasses import dataclass
from typing import ClassVar

from postgres.settings import DatabaseSettings
from serving.settings import ServerSettings, TokenSettings, listen_on, setting, settings_of

_DAY = 24 * 60 * 60
_KIB = 1024
_MIB = 1024 * _KIB


@dataclass(frozen=True, kw_only=True)
class Settings(DatabaseSettings, TokenSettings, ServerSettings):
    """The settings of one plugin; invalid values raise `BadSetting`."""

    env_prefix: ClassVar[str] = "MEMORY_PLUGIN_"

    listen: str = listen_on("127.0.0.1:9100")
    max_body: int = setting(_MIB, "Largest request body, in bytes.", at_least=_KIB)
    max_batch_body: int = setting(
        32 * _MIB, "Largest body of a batch request, in bytes.", at_least=_KIB
    )
    max_content: int = setting(
        256 * _KIB, "Largest content of a memory, in bytes of UTF-8.", at_least=1
    )
    max_namespaces: int = setting(
        5000, "Most namespaces that a search or listing may name.", at_least=1
    )
    write_queue: int = setting(
        10_000, "Writes that may wait in a worker; further ones get 503.", at_least=1
    )
    janitor_interval: float = setting(
        60.0, "Seconds between rounds of deleting expired memories.", at_least=0.1
    )
    janitor_grace: float = setting(
        float(_DAY),
        "Seconds to keep expired memories and namespaces, so that a wrong TTL can be undone.",
        at_least=0,
    )
    janitor_batch: int = setting(500, "Rows to delete per statement.", at_least=1)


SETTINGS = settings_of(Settings)
