"""Why a run stops, and the exit code that says so.

    BackfillError
    ├── ConfigurationError   2: an option, an address, a missing table; nothing was touched
    ├── SourceUnavailable    3: the legacy database went away
    ├── TargetUnavailable    3: the plugin went away, for longer than we wait
    ├── TargetReplaced       3: the plugin lost what it had just acknowledged
    ├── TargetBroken         5: the plugin violates the contract; running again will not help
    ├── Interrupted          3: Ctrl-C or SIGTERM
    └── Unaccounted          1: rows were neither written nor rejected: a bug

Messages contain no memory content, no password and no token.
"""

from typing import ClassVar

EXIT_OK = 0
EXIT_MISMATCH = 1
EXIT_CONFIGURATION = 2
EXIT_UNAVAILABLE = 3
EXIT_UNPROVEN = 4
EXIT_BROKEN = 5


class BackfillError(Exception):
    """The base class: its message is one sentence for the operator."""

    exit_code: ClassVar[int] = EXIT_UNAVAILABLE


class ConfigurationError(BackfillError):
    """The run cannot start; nothing was changed."""

    exit_code = EXIT_CONFIGURATION


class SourceUnavailable(BackfillError):
    """The legacy database does not answer."""


class TargetUnavailable(BackfillError):
    """The plugin does not answer, and we have waited long enough."""


class TargetReplaced(BackfillError):
    """The plugin was wiped or replaced during the run; the next run starts over."""


class TargetBroken(BackfillError):
    """The plugin violates the contract; the same command would end the same way."""

    exit_code = EXIT_BROKEN


class Interrupted(BackfillError):
    """The operator stopped the run."""


class Unaccounted(BackfillError):
    """`scanned = written + rejected` does not hold."""

    exit_code = EXIT_MISMATCH
