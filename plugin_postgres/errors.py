"""What can stop the plugin from starting.

    PluginError
    ├── BadSetting             a flag or an environment variable that makes no sense
    ├── EmbeddedFailed         the embedded PostgreSQL is not installed or does not start
    ├── DatabaseUnreachable    no connection to the database within the time to start
    ├── MigrationFailed        the database failed while its schema was migrated or checked
    ├── MigrationRefused       the schema must not be touched as it is
    │   ├── DatabaseNewer      a later release has migrated it
    │   ├── MigrationChanged   a migration differs from the one that was applied
    │   └── MigrationPending   it is older than this release and migrating is switched off
    └── ServerFailed           the process that serves, or one of several, does not start

The command prints the message and exits with 1 (2 for BadSetting). What goes wrong while serving is
answered to the client with the errors of `contract` instead.
"""


class PluginError(Exception):
    """The plugin cannot start; the message says what to do about it."""

    exit_code = 1


class BadSetting(PluginError):
    """A setting that makes no sense; the message names its flag."""

    exit_code = 2


class EmbeddedFailed(PluginError):
    """The embedded PostgreSQL cannot run here."""


class DatabaseUnreachable(PluginError):
    """The database did not accept a connection in time."""


class MigrationFailed(PluginError):
    """The database failed, or this role lacks a right; what was begun is rolled back."""


class MigrationRefused(PluginError):
    """The schema is not one that this release may migrate or serve."""


class DatabaseNewer(MigrationRefused):
    """A later release has migrated this database."""


class MigrationChanged(MigrationRefused):
    """A migration that was applied is not the one in this package."""


class MigrationPending(MigrationRefused):
    """The schema is older than this release needs, and migrating is switched off."""


class ServerFailed(PluginError):
    """Everything was ready, and serving did not begin; the log says why."""
