"""The settings of the plugin beside those that every server of ours has."""

from dataclasses import dataclass
from typing import ClassVar

from postgres.settings import DatabaseSettings
from serving.settings import ServerSettings, TokenSettings, listen_on, setting, settings_of

_DAY = 24 * 60 * 60
_KIB = 1024
_MIB = 1024 * _KIB


@dataclass(frozen=True, kw_only=True)
class Settings(DatabaseSettings, TokenSettings, ServerSettings):
    """The settings of one plugin; bad values raise `BadSetting`."""

    env_prefix: ClassVar[str] = "MEMORY_PLUGIN_"

    listen: str = listen_on("127.0.0.1:9100")
    max_body: int = setting(_MIB, "Largest request body in bytes.", at_least=_KIB)
    max_batch_body: int = setting(
        32 * _MIB, "Largest body of a batch request in bytes.", at_least=_KIB
    )
    max_content: int = setting(
        256 * _KIB, "Largest content of one memory in bytes of UTF-8.", at_least=1
    )
    max_namespaces: int = setting(
        1000, "Most namespaces that one search or listing may name.", at_least=1
    )
    write_queue: int = setting(
        10_000, "Writes that may wait in one worker before the next ones get 503.", at_least=1
    )
    janitor_interval: float = setting(
        60.0, "Seconds between two rounds of deleting what has expired.", at_least=0.1
    )
    janitor_grace: float = setting(
        float(_DAY),
        "Seconds that expired memories and namespaces are kept, so that a wrong TTL can be undone.",
        at_least=0,
    )
    janitor_batch: int = setting(500, "Rows that the janitor deletes at once.", at_least=1)


SETTINGS = settings_of(Settings)
