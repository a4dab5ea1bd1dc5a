"""The settings of `memory-conversations`."""

from dataclasses import dataclass
from typing import ClassVar

from conversations.tokens import read_agent_keys
from postgres.settings import DatabaseSettings
from serving.errors import BadSetting
from serving.plugin import PluginSettings
from serving.settings import ServerSettings, listen_on, setting

_HOSTS = ("127.0.0.1:", "localhost:", "[::1]:", "unix:")


@dataclass(frozen=True, kw_only=True)
class Settings(ServerSettings, DatabaseSettings, PluginSettings):
    """The settings of one server; bad values raise `BadSetting`."""

    env_prefix: ClassVar[str] = "MEMORY_CONVERSATIONS_"

    listen: str = listen_on("127.0.0.1:8030")
    jwt_secret: str | None = setting(
        None, "Secret of user tokens signed with HS256; better set in the environment."
    )
    jwks_url: str | None = setting(
        None, "URL of the public keys (JWKS) of user tokens signed with RSA, EC or Ed25519."
    )
    issuer: str | None = setting(None, "What a user token must have as `iss`.")
    audience: str | None = setting(None, "What a user token must have in `aud`.")
    dev_auth: bool = setting(
        False, "Take the bearer token itself for the user id; only on an address of this machine."
    )
    agent_keys: str | None = setting(
        None, "Agents that may call, as name=key,name=key; better set in the environment."
    )
    resumer: str = setting(
        "postgres",
        "Where responses in progress are recorded: postgres, redis or none.",
        one_of=("postgres", "redis", "none"),
    )
    redis_url: str | None = setting(None, "Redis for the resumer, such as redis://host:6379/0.")
    response_idle_seconds: float = setting(
        60.0, "A response that gets nothing for so long is aborted.", at_least=0.1
    )
    response_retention_seconds: float = setting(
        1800.0, "How long a response that has ended can be replayed.", at_least=0
    )
    cors_origins: str | None = setting(
        None, "Browser origins that may call, separated by commas, such as https://chat.example."
    )
    embed_url: str | None = setting(
        None,
        "Base URL of an OpenAI-compatible API that makes embeddings. Without it, searches go by"
        " words alone.",
    )
    embed_model: str | None = setting(None, "The model that makes embeddings.")
    embed_api_key: str | None = setting(None, "Key of that API; better set in the environment.")
    max_body: int = setting(16 * 1024 * 1024, "Largest request body in bytes.", at_least=1024)

    def check(self) -> None:
        super().check()
        ways = [bool(self.jwt_secret), bool(self.jwks_url), self.dev_auth]
        if sum(ways) != 1:
            raise BadSetting(
                "set exactly one way to check tokens: MEMORY_CONVERSATIONS_JWT_SECRET,"
                " MEMORY_CONVERSATIONS_JWKS_URL or --dev-auth"
            )
        if self.dev_auth and not self.listen.startswith(_HOSTS):
            raise BadSetting(
                "--dev-auth lets anybody be anybody: listen on 127.0.0.1, ::1, localhost or a"
                " unix socket, or check tokens"
            )
        if self.resumer == "redis" and not self.redis_url:
            raise BadSetting("--resumer redis needs MEMORY_CONVERSATIONS_REDIS_URL")
        if (self.embed_url is None) != (self.embed_model is None):
            raise BadSetting("--embed-url and --embed-model must be given together, or neither")
        try:
            read_agent_keys(self.agent_keys)
        except ValueError as error:
            raise BadSetting(f"MEMORY_CONVERSATIONS_AGENT_KEYS: {error}") from None

    @property
    def origins(self) -> list[str]:
        return [origin.strip() for origin in (self.cors_origins or "").split(",") if origin.strip()]
