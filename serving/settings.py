"""Settings: flag, environment variable, default and meaning of each, in one place.

A service's settings are a frozen dataclass over `ServerSettings` (and `DatabaseSettings`) with an
`env_prefix`. The command line is built from it, and a test compares the documentation with it. A
flag overrides the environment.
"""

import math
from collections.abc import Collection
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, get_type_hints
from urllib.parse import urlsplit

from serving.errors import BadSetting


def setting(
    default: Any,
    meaning: str,
    *,
    env: str | None = None,
    env_suffix: str | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    one_of: Collection[str] | None = None,
) -> Any:
    """A field of a settings class.

    Its environment variable is the prefix of the class plus the name of the field or `env_suffix`,
    or exactly `env` if given.
    """
    metadata = {
        "meaning": meaning,
        "env": env,
        "env_suffix": env_suffix,
        "at_least": at_least,
        "at_most": at_most,
        "one_of": one_of,
    }
    # Tokens and database URLs are settings, so repr shows none of them.
    return field(default=default, repr=False, metadata=metadata)


def is_web_address(url: str) -> bool:
    """Whether this is an http or https URL with a host."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for a port that is not a number
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def listen_on(address: str) -> Any:
    """The setting `listen` with the default address of a service."""
    return setting(
        address,
        "Address to listen on: host:port, :port for all interfaces, or unix:/path.",
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
    at_most: float | None
    one_of: Collection[str] | None

    def check(self, value: Any) -> None:
        if self.at_least is not None and not value >= self.at_least:
            raise BadSetting(f"{self.flag} ({self.env}) must be at least {self.at_least:g}")
        if self.at_most is not None and value > self.at_most:
            raise BadSetting(f"{self.flag} ({self.env}) must be at most {self.at_most:,.0f}")
        if isinstance(value, float) and not math.isfinite(value):
            raise BadSetting(f"{self.flag} ({self.env}) must be a finite number")
        if self.one_of is not None and value not in self.one_of:
            *first, last = self.one_of
            raise BadSetting(f"{self.flag} ({self.env}) must be {', '.join(first)} or {last}")


@dataclass(frozen=True, kw_only=True)
class BaseSettings:
    """The base of every settings class; invalid values raise `BadSetting`."""

    env_prefix: ClassVar[str]

    def __post_init__(self) -> None:
        for one in settings_of(type(self)):
            one.check(getattr(self, one.name))
        self.check()

    def check(self) -> None:
        """Raise `BadSetting` if settings contradict each other; a subclass adds its own checks."""


@dataclass(frozen=True, kw_only=True)
class ServerSettings(BaseSettings):
    """The settings that all our servers share."""

    listen: str = listen_on("127.0.0.1:0")
    workers: int = setting(1, "Number of worker processes; leave cores for PostgreSQL.", at_least=1)
    shutdown_timeout: float = setting(
        7.0, "Seconds that requests in flight have to finish after SIGTERM.", at_least=0
    )
    log_json: bool = setting(False, "Log one JSON object per line.")
    log_level: str = setting(
        "info",
        "Lowest level to log: debug, info, warning or error.",
        one_of=("debug", "info", "warning", "error"),
    )


@dataclass(frozen=True, kw_only=True)
class TokenSettings(BaseSettings):
    """The settings of a server that a single shared token protects."""

    token: str | None = setting(
        None,
        "Bearer token that every request except the health check must carry. Set it in the"
        " environment: other users of the machine can see flags.",
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
        at_most=metadata["at_most"],
        one_of=metadata["one_of"],
    )
