"""The options of a run."""

from dataclasses import dataclass, field

from harness.check import PROFILES, Check, Profile, all_checks
from harness.errors import ConfigurationError


@dataclass(frozen=True)
class Settings:
    """The options of a run; each is an option of `memory-harness run` of the same name.

    `timeout` is how many seconds one request may take. `dimension` is that of the embeddings, for a
    plugin that takes only one; without it the harness finds out. `only` and `exclude` hold ids,
    areas or shell patterns, and make the verdict partial. The commands come from the plugin's
    author: each is run by the shell and has taken effect when it returns.
    """

    profile: Profile = "full"
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    timeout: float = 20.0
    seed: int = 0
    dimension: int | None = None
    parallel: int = 12
    token: str | None = field(default=None, repr=False)
    restart_cmd: str | None = None
    store_down_cmd: str | None = None
    store_up_cmd: str | None = None
    legacy_url: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ConfigurationError(
                f"there is no profile {self.profile}; choose from {', '.join(PROFILES)}"
            )
        if not self.timeout > 0:
            raise ConfigurationError("the timeout must be more than 0 seconds")
        if self.dimension is not None and self.dimension < 2:
            raise ConfigurationError("the dimension must be at least 2")
        if self.parallel < 1:
            raise ConfigurationError("--parallel must be at least 1")
        if bool(self.store_down_cmd) != bool(self.store_up_cmd):
            raise ConfigurationError("--store-down-cmd and --store-up-cmd must be given together")
        for pattern in (*self.only, *self.exclude):
            if not any(check.matches(pattern) for check in all_checks()):
                raise ConfigurationError(
                    f"no check matches {pattern!r}; `memory-harness list` shows all ids"
                )

    def gives(self, option: str) -> bool:
        """Whether the user gave the option that a check needs."""
        return bool(getattr(self, option.removeprefix("--").replace("-", "_")))

    def checks(self) -> list[Check]:
        """The checks of the profile, and those for which the user gave a command."""
        return [
            check
            for check in all_checks()
            if check.belongs_to(self.profile)
            or (check.options and all(self.gives(option) for option in check.options))
        ]

    def excludes(self, check: Check) -> str | None:
        """Why the user does not want this check to run, or None."""
        if self.only and not any(check.matches(pattern) for pattern in self.only):
            return "not named by --only"
        for pattern in self.exclude:
            if check.matches(pattern):
                return f"excluded by --exclude {pattern}"
        missing = [option for option in check.options if not self.gives(option)]
        return f"needs {' and '.join(missing)}" if missing else None
