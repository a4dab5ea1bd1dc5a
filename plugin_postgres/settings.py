"""Every setting of the plugin: its flag, its environment variable, its default, its meaning.

The command line is made from `SETTINGS`, and the documentation is compared with it. A flag wins
over the environment.
"""

from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from plugin_postgres.errors import BadSetting

_DAY = 24 * 60 * 60
_KIB = 1024
_MIB = 1024 * _KIB


def _setting(
    default: Any, meaning: str, *, env: str | None = None, at_least: float | None = None
) -> Any:
    return field(
        default=default,
        repr=False,
        metadata={"meaning": meaning, "env": env, "at_least": at_least},
    )


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one plugin; bad values raise `BadSetting`."""

    listen: str = _setting(
        "127.0.0.1:9100",
        "Address to listen on: host:port, :port for every interface, or unix:/path.",
        env="MEMORY_PLUGIN_LISTEN_ADDR",
    )
    database_url: str | None = _setting(
        None,
        "PostgreSQL URL; several hosts are tried in turn for the one that accepts writes."
        " Without it an embedded PostgreSQL runs in the data directory.",
    )
    data_dir: Path = _setting(  # noqa: RUF009 - a path does not change
        Path(".data"), "Where the embedded PostgreSQL keeps its data."
    )
    workers: int = _setting(1, "Processes that serve; PostgreSQL needs cores too.", at_least=1)
    skip_migrate: bool = _setting(
        False, "Do not migrate the schema at the start; refuse one that is too old."
    )
    startup_timeout: float = _setting(
        30.0, "Seconds to wait at the start for the database to accept connections.", at_least=0
    )
    shutdown_timeout: float = _setting(
        7.0, "Seconds that requests in flight get to finish after SIGTERM.", at_least=0
    )
    token: str | None = _setting(
        None,
        "Bearer token that every request but /v1/health must carry; better set in the"
        " environment, where other users of the machine cannot see it.",
    )
    log_json: bool = _setting(False, "Log one JSON object per line.")
    log_level: str = _setting("info", "debug, info, warning or error.")
    pool_size: int = _setting(10, "Connections to the database per worker.", at_least=2)
    pool_timeout: float = _setting(
        1.0, "Seconds a request waits for a connection before it gets 503.", at_least=0
    )
    connect_timeout: float = _setting(
        3.0, "Seconds for a new connection to the database to come up.", at_least=0.1
    )
    statement_timeout: float = _setting(
        5.0, "Seconds a statement may take before its request gets 503.", at_least=0.1
    )
    max_body: int = _setting(_MIB, "Largest request body in bytes.", at_least=_KIB)
    max_batch_body: int = _setting(
        32 * _MIB, "Largest body of a batch request in bytes.", at_least=_KIB
    )
    max_content: int = _setting(
        256 * _KIB, "Largest content of one memory in bytes of UTF-8.", at_least=1
    )
    max_namespaces: int = _setting(
        1000, "Most namespaces that one search or listing may name.", at_least=1
    )
    write_queue: int = _setting(
        10_000, "Writes that may wait in one worker before the next ones get 503.", at_least=1
    )
    janitor_interval: float = _setting(
        60.0, "Seconds between two rounds of deleting what has expired.", at_least=0.1
    )
    janitor_grace: float = _setting(
        float(_DAY),
        "Seconds that expired memories and namespaces are kept, so that a wrong TTL can be undone.",
        at_least=0,
    )
    janitor_batch: int = _setting(500, "Rows that the janitor deletes at once.", at_least=1)

    def __post_init__(self) -> None:
        for setting in SETTINGS:
            setting.check(getattr(self, setting.name))
        if self.log_level not in ("debug", "info", "warning", "error"):
            raise BadSetting("--log-level must be debug, info, warning or error")
        token = self.token
        if token is not None and not (token.isascii() and token.isprintable() and token.strip()):
            raise BadSetting("--token must be printable ASCII")


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

    def check(self, value: Any) -> None:
        if self.at_least is not None and not value >= self.at_least:
            raise BadSetting(f"{self.flag} ({self.env}) must be at least {self.at_least:g}")


def _described(declared: "Field[Any]", kind: Any) -> Setting:
    if declared.default is MISSING:
        raise TypeError(f"the setting {declared.name} needs a default")
    return Setting(
        name=declared.name,
        kind=kind,
        default=declared.default,
        meaning=declared.metadata["meaning"],
        flag="--" + declared.name.replace("_", "-"),
        env=declared.metadata["env"] or f"MEMORY_PLUGIN_{declared.name.upper()}",
        at_least=declared.metadata["at_least"],
    )


SETTINGS: tuple[Setting, ...] = tuple(
    _described(declared, get_type_hints(Settings)[declared.name]) for declared in fields(Settings)
)
