"""The settings of a server that keeps its data in PostgreSQL."""

from dataclasses import dataclass
from pathlib import Path

from serving.settings import BaseSettings, setting


@dataclass(frozen=True, kw_only=True)
class DatabaseSettings(BaseSettings):
    """Where the database is, and how its connections behave."""

    database_url: str | None = setting(
        None,
        "PostgreSQL URL. Of several hosts, the one that accepts writes is used. Without a URL, an"
        " embedded PostgreSQL runs in the data directory.",
    )
    data_dir: Path = setting(  # noqa: RUF009 - a path is immutable
        Path(".data"), "Where the embedded PostgreSQL stores its data."
    )
    skip_migrate: bool = setting(
        False, "Do not migrate the schema at startup; refuse to start if it is too old."
    )
    startup_timeout: float = setting(
        30.0, "Seconds to wait at startup for the database to accept connections.", at_least=0
    )
    pool_size: int = setting(10, "Database connections per worker.", at_least=2)
    pool_timeout: float = setting(
        1.0, "Seconds a request waits for a connection before it gets 503.", at_least=0
    )
    connect_timeout: float = setting(
        3.0, "Seconds to wait for a new database connection.", at_least=0.1
    )
    statement_timeout: float = setting(
        5.0,
        "Seconds an SQL statement may take before its request gets 503.",
        at_least=0.1,
        at_most=2_000_000,  # PostgreSQL counts milliseconds, with 32 bits
    )
