"""The flags and environment variables of `memory-recall`."""

from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from contract import Address
from postgres.settings import DatabaseSettings
from serving.errors import BadSetting
from serving.plugin import PluginSettings
from serving.settings import ServerSettings, listen_on, setting


@dataclass(frozen=True, kw_only=True)
class Settings(ServerSettings, DatabaseSettings, PluginSettings):
    """The flags. Settings that can be changed at runtime are in the database."""

    env_prefix: ClassVar[str] = "MEMORY_RECALL_"
    read_plugin_url = staticmethod(Address.parse)

    listen: str = listen_on("127.0.0.1:8020")
    token: str | None = setting(
        None,
        "Management token for /api, /dashboard and /mcp; set it in the environment. Without it, the"
        " first start generates one, prints it once and keeps it in the data directory.",
        env_suffix="MANAGEMENT_TOKEN",
    )
    upstream_url: str | None = setting(
        None,
        "Base URL of the model API to forward requests to, ending in /v1.",
    )
    upstream_key: str | None = setting(
        None,
        "Key for the upstream; set it in the environment. With it, only clients with an API key of"
        " this server are let through.",
    )
    upstream_timeout: float = setting(
        600.0,
        "Seconds without data from the upstream after which the client gets 504.",
        at_least=0.1,
    )
    embedding_key: str | None = setting(
        None, "Key for the embedding server in the memory settings; set it in the environment."
    )
    dev_auth: bool = setting(
        False,
        "For development, on a loopback address only: accept any bearer token as an API key, and"
        " test-management as the management token unless one is set.",
    )
    max_body: int = setting(
        64 * 2**20,
        "Largest body of an import, in bytes. Other bodies may have 2 MiB.",
        at_least=1024,
    )

    def check(self) -> None:
        super().check()
        if self.upstream_url is not None:
            _check_upstream(self.upstream_url)
        if self.dev_auth and not is_loopback(self.listen):
            raise BadSetting(
                "--dev-auth lets everybody in and is refused on an address that is not loopback;"
                " listen on 127.0.0.1, [::1], localhost or a unix socket"
            )
        for name in ("upstream_key", "embedding_key"):
            value = getattr(self, name)
            if value is not None and not (
                value.isascii() and value.isprintable() and value.strip()
            ):
                raise BadSetting(f"--{name.replace('_', '-')} must be printable ASCII")


def is_loopback(listen: str) -> bool:
    """Whether the address is reachable only from this machine."""
    if listen.startswith("unix:"):
        return True
    host = listen.rpartition(":")[0].strip("[]").lower()
    return host in ("localhost", "::1") or (host.startswith("127.") and host.count(".") == 3)


def _check_upstream(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname)
        parts.port  # noqa: B018 - raises for a port that is not a number
    except ValueError:
        is_right = False
    if not is_right or not parts.path.rstrip("/").endswith("/v1"):
        raise BadSetting(
            "--upstream-url must be an http or https URL that ends in /v1,"
            " such as https://api.openai.com/v1"
        )
