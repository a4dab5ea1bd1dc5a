"""Settings: flag, environment variable, default and meaning of each, in one place.

A service's settings are a frozen dataclass over `ServerSettings` (and `DatabaseSettings`) with an
`env_prefix`. The command line is made from it, and the documentation is compared with it. A flag
wins over the environment.
"""

from collections.abc import Collection
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, get_type_hints

from serving.errors import BadSetting


def setting(
    default: Any,
    meaning: str,
    *,
    env: str | None = None,
    env_suffix: str | None = None,
    at_least: float | None = None,
    one_of: Collection[str] | None = None,
) -> Any:
    """A field of a settings class.

    Its environment variable is the prefix of the class and the name of the field, or the prefix
    and `env_suffix`, or `env` as it is.
    """
    metadata = {
        "meaning": meaning,
        "env": env,
        "env_suffix": env_suffix,
        "at_least": at_least,
        "one_of": one_of,
    }
    # Tokens and database URLs are settings: none is shown by repr.
    return field(default=default, repr=False, metadata=metadata)


def listen_on(address: str) -> Any:
    """The setting `listen` with the address that is the service's own."""
    return setting(
        address,
        "Address to listen on: host:port, :port for every interface, or unix:/path.",
        env_suffix="LISTEN_ADDR",
    )


@dataclass(frozen=True)
class Setting:
    """One setting as an operator sees it."""

    name: str
    kind: Any
    default: Any
    meaning: str
    flag: str
    env: str
    at_least: float | None
    one_of: Collection[str] | None

    def check(self, value: Any) -> None:
        if self.at_least is not None and not value >= self.at_least:
            raise BadSetting(f"{self.flag} ({self.env}) must be at least {self.at_least:g}")
        if self.one_of is not None and value not in self.one_of:
            *first, last = self.one_of
            raise BadSetting(f"{self.flag} ({self.env}) must be {', '.join(first)} or {last}")


@dataclass(frozen=True, kw_only=True)
class BaseSettings:
    """What every class of settings has; bad values raise `BadSetting`."""

    env_prefix: ClassVar[str]

    def __post_init__(self) -> None:
        for one in settings_of(type(self)):
            one.check(getattr(self, one.name))
        self.check()

    def check(self) -> None:
        """Raise `BadSetting` where settings do not fit; a subclass adds its own."""


@dataclass(frozen=True, kw_only=True)
class ServerSettings(BaseSettings):
    """The settings of any server of ours."""

    listen: str = listen_on("127.0.0.1:0")
    workers: int = setting(1, "Processes that serve; PostgreSQL needs cores too.", at_least=1)
    shutdown_timeout: float = setting(
        7.0, "Seconds that requests in flight get to finish after SIGTERM.", at_least=0
    )
    log_json: bool = setting(False, "Log one JSON object per line.")
    log_level: str = setting(
        "info",
        "debug, info, warning or error.",
        one_of=("debug", "info", "warning", "error"),
    )


@dataclass(frozen=True, kw_only=True)
class TokenSettings(BaseSettings):
    """The settings of a server that one token opens to everybody who has it."""

    token: str | None = setting(
        None,
        "Bearer token that every request but the health check must carry; better set in the"
        " environment, where other users of the machine cannot see it.",
    )

    def check(self) -> None:
        super().check()
        token = self.token
        if token is not None and not (token.isascii() and token.isprintable() and token.strip()):
            raise BadSetting("--token must be printable ASCII")


def settings_of(settings: type[BaseSettings]) -> tuple[Setting, ...]:
    """Every setting of a class, in the order of its fields."""
    hints = get_type_hints(settings)
    return tuple(
        _described(declared, hints[declared.name], settings.env_prefix)
        for declared in fields(settings)
    )


def _described(declared: "Field[Any]", kind: Any, prefix: str) -> Setting:
    if declared.default is MISSING:
        raise TypeError(f"the setting {declared.name} needs a default")
    metadata = declared.metadata
    return Setting(
        name=declared.name,
        kind=kind,
        default=declared.default,
        meaning=metadata["meaning"],
        flag="--" + declared.name.replace("_", "-"),
        env=metadata["env"] or prefix + (metadata["env_suffix"] or declared.name.upper()),
        at_least=metadata["at_least"],
        one_of=metadata["one_of"],
    )
