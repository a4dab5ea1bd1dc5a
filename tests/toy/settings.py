from dataclasses import dataclass
from typing import ClassVar

from postgres.settings import DatabaseSettings
from serving.plugin import PluginSettings
from serving.settings import ServerSettings, TokenSettings, listen_on, setting


@dataclass(frozen=True, kw_only=True)
class Settings(PluginSettings, DatabaseSettings, TokenSettings, ServerSettings):
    env_prefix: ClassVar[str] = "MEMORY_TOY_"

    listen: str = listen_on("127.0.0.1:8090")
    max_body: int = setting(64 * 1024, "Largest request body in bytes.", at_least=1024)
    max_upload: int = setting(4 * 2**20, "Largest upload in bytes.", at_least=1024)
    with_plugin: bool = setting(False, "Start or use a memory plugin.")
