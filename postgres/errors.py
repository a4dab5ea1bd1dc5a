"""What can go wrong with PostgreSQL.

    ServiceError               (of `serving`: the server cannot start)
    ├── EmbeddedFailed         the embedded PostgreSQL is not installed or does not start
    ├── DatabaseUnreachable    no connection to the database within the time to start
    ├── MigrationFailed        the database failed while its schema was migrated or checked
    └── MigrationRefused       this release must not migrate or serve the schema
        ├── DatabaseNewer      a later release has migrated it
        ├── MigrationChanged   a migration differs from the one that was applied
        └── MigrationPending   it is older than this release and migrating is switched off
    StoreUnavailable           while serving: the store is down, too slow, or refuses

A service maps `StoreUnavailable` to the response that its own API defines for it.
"""

from serving.errors import ServiceError


class EmbeddedFailed(ServiceError):
    """The embedded PostgreSQL cannot run here."""


class DatabaseUnreachable(ServiceError):
    """The database did not accept a connection in time."""


class MigrationFailed(ServiceError):
    """The database failed, or this role lacks a privilege; the migration is rolled back."""


class MigrationRefused(ServiceError):
    """The schema is not one that this release may migrate or serve."""


class DatabaseNewer(MigrationRefused):
    """A later release has migrated this database."""


class MigrationChanged(MigrationRefused):
    """An applied migration differs from the one in this package."""


class MigrationPending(MigrationRefused):
    """The schema is older than this release needs, and migrating is switched off."""


class StoreUnavailable(Exception):
    """The store cannot answer now; retry after `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
