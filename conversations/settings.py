"""The settings of `memory-conversations`."""

from dataclasses import dataclass
from typing import ClassVar

from contract import Address
from conversations.tokens import read_agent_keys
from postgres.settings import DatabaseSettings
from serving.errors import BadSetting
from serving.plugin import PluginSettings
from serving.settings import ServerSettings, is_web_address, listen_on, setting

_LONGEST_SECONDS = 1_000_000_000
_HOSTS = ("127.0.0.1:", "localhost:", "[::1]:", "unix:")


@dataclass(frozen=True, kw_only=True)
class Settings(ServerSettings, DatabaseSettings, PluginSettings):
    """The settings of one server; invalid values raise `BadSetting`."""

    env_prefix: ClassVar[str] = "MEMORY_CONVERSATIONS_"
    read_plugin_url = staticmethod(Address.parse)

    listen: str = listen_on("127.0.0.1:8030")
    jwt_secret: str | None = setting(
        None, "Secret for user tokens signed with HS256; set it in the environment."
    )
    jwks_url: str | None = setting(
        None, "URL of the public keys (JWKS) for user tokens signed with RSA, EC or Ed25519."
    )
    issuer: str | None = setting(None, "Required `iss` of user tokens.")
    audience: str | None = setting(None, "Required `aud` of user tokens.")
    dev_auth: bool = setting(
        False, "Use the bearer token itself as the user id; only on a loopback address."
    )
    agent_keys: str | None = setting(
        None, "Keys of agents, as name=key,name=key; set them in the environment."
    )
    resumer: str = setting(
        "postgres",
        "Where responses in progress are recorded: postgres, redis or none.",
        one_of=("postgres", "redis", "none"),
    )
    redis_url: str | None = setting(None, "URL of the Redis resumer, such as redis://host:6379/0.")
    response_idle_seconds: float = setting(
        60.0,
        "Seconds without new text after which a response is aborted.",
        at_least=0.1,
        at_most=_LONGEST_SECONDS,
    )
    response_retention_seconds: float = setting(
        1800.0,
        "Seconds that a response can be replayed after it has ended.",
        at_least=0,
        at_most=_LONGEST_SECONDS,
    )
    cors_origins: str | None = setting(
        None, "Allowed browser origins, separated by commas, such as https://chat.example."
    )
    embed_url: str | None = setting(
        None,
        "Base URL of an OpenAI-compatible API that makes embeddings. Without it, search uses words"
        " only.",
    )
    embed_model: str | None = setting(None, "Model that makes embeddings.")
    embed_api_key: str | None = setting(None, "Key for that API; set it in the environment.")
    max_body: int = setting(16 * 1024 * 1024, "Largest request body, in bytes.", at_least=1024)

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
                "--dev-auth lets callers act as any user: listen on 127.0.0.1, ::1, localhost or a"
                " unix socket, or set MEMORY_CONVERSATIONS_JWT_SECRET or _JWKS_URL instead"
            )
        if self.resumer == "redis" and not self.redis_url:
            raise BadSetting("--resumer redis needs MEMORY_CONVERSATIONS_REDIS_URL")
        if self.resumer == "redis" and self.redis_url:
            _check_redis(self.redis_url)
        if (self.embed_url is None) != (self.embed_model is None):
            raise BadSetting("--embed-url and --embed-model must be set together")
        for flag, url in (("--jwks-url", self.jwks_url), ("--embed-url", self.embed_url)):
            if url and not is_web_address(url):
                raise BadSetting(f"{flag} must be an http or https URL")
        try:
            read_agent_keys(self.agent_keys)
        except ValueError as error:
            raise BadSetting(f"MEMORY_CONVERSATIONS_AGENT_KEYS: {error}") from None

    @property
    def origins(self) -> list[str]:
        return [origin.strip() for origin in (self.cors_origins or "").split(",") if origin.strip()]


def _check_redis(url: str) -> None:
    # Imported here: the client of Redis takes long to load.
    from redis.asyncio.connection import parse_url

    try:
        parse_url(url)
    except ValueError as error:
        raise BadSetting(f"--redis-url: {error}") from None
