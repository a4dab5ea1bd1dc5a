"""The settings of the gateway, in addition to those that all our servers share."""

from dataclasses import dataclass
from typing import ClassVar

from contract import Address
from postgres.settings import DatabaseSettings
from serving.errors import BadSetting
from serving.plugin import PluginSettings
from serving.settings import ServerSettings, is_web_address, listen_on, setting, settings_of


@dataclass(frozen=True, kw_only=True)
class Settings(PluginSettings, DatabaseSettings, ServerSettings):
    """The settings of one gateway; invalid values raise `BadSetting`."""

    env_prefix: ClassVar[str] = "MEMORY_GATEWAY_"
    read_plugin_url = staticmethod(Address.parse)

    listen: str = listen_on("127.0.0.1:8010")
    admin_token: str | None = setting(
        None,
        "Bearer token for creating, deleting and exporting users and for /metrics. Set it in the"
        " environment: other users of the machine can see flags. Without it, callers on this"
        " machine may create users.",
    )
    redact: bool = setting(True, "Replace secrets before anything is stored.")
    idle_flush: float = setting(
        600.0,
        "Flush a buffer after this many seconds without a new message; 0 means never.",
        at_least=0,
        at_most=1_000_000_000,  # no timestamp can hold much more
    )
    llm_url: str | None = setting(
        None,
        "Base URL of an OpenAI-compatible API that finds facts in what users say, such as"
        " http://127.0.0.1:11434/v1. Without it, only rules find facts.",
    )
    llm_model: str | None = setting(None, "Model that finds facts.")
    llm_api_key: str | None = setting(None, "Key for that API; set it in the environment.")
    embed_url: str | None = setting(
        None,
        "Base URL of an OpenAI-compatible API that makes embeddings. Without it, search uses words"
        " only.",
    )
    embed_model: str | None = setting(None, "Model that makes embeddings.")
    embed_api_key: str | None = setting(None, "Key for that API; set it in the environment.")

    def check(self) -> None:
        super().check()
        for flag, secret in (
            ("--admin-token", self.admin_token),
            ("--llm-api-key", self.llm_api_key),
            ("--embed-api-key", self.embed_api_key),
        ):
            if secret is not None and not _fits_a_header(secret):
                raise BadSetting(f"{flag} must be printable ASCII")
        if (self.llm_url is None) != (self.llm_model is None):
            raise BadSetting("--llm-url and --llm-model must be set together")
        if (self.embed_url is None) != (self.embed_model is None):
            raise BadSetting("--embed-url and --embed-model must be set together")
        for flag, url in (("--llm-url", self.llm_url), ("--embed-url", self.embed_url)):
            if url is not None and not is_web_address(url):
                raise BadSetting(
                    f"{flag} must be an http or https URL, such as http://127.0.0.1:11434/v1"
                )


def _fits_a_header(secret: str) -> bool:
    return secret.isascii() and secret.isprintable() and bool(secret.strip())


SETTINGS = settings_of(Settings)
