"""The one registry of checks: what each requires of a plugin, and when it can run.

    @check("forget.unknown-id", "Forget of an unknown id: 404, and nothing is deleted.")
    async def unknown_id(trial: Trial) -> None: ...

The modules of `harness.checks` fill the registry when they are imported.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from inspect import cleandoc
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Literal, get_args

from contract import CAPABILITIES, EXTENSIONS

if TYPE_CHECKING:
    from harness.trial import Trial

Level = Literal["must", "should"]
Profile = Literal["core", "full", "operational"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

Option = Literal["--restart-cmd", "--store-down-cmd", "--store-up-cmd", "--legacy-url"]
OPTIONS: tuple[Option, ...] = get_args(Option)

CheckFunction = Callable[["Trial"], Awaitable[None]]


@dataclass(frozen=True)
class Check:
    """One requirement on a plugin.

    `needs` names capabilities and extensions that the plugin must claim, and command-line options
    that the user must give. `alone` checks run after all others, one at a time.
    """

    id: str
    sentence: str
    function: CheckFunction
    level: Level
    needs: tuple[str, ...]
    profile: Profile
    alone: bool

    @property
    def area(self) -> str:
        """The part of the id before the dot; also the name of the module it lives in."""
        return self.id.partition(".")[0]

    @property
    def explanation(self) -> str:
        """What the check does and why, for a reader who has to fix a plugin."""
        return cleandoc(self.function.__doc__ or "")

    @property
    def claims(self) -> tuple[str, ...]:
        """The capabilities and extensions among the needs."""
        return tuple(need for need in self.needs if not need.startswith("--"))

    @property
    def options(self) -> tuple[str, ...]:
        """The command-line options among the needs."""
        return tuple(need for need in self.needs if need.startswith("--"))

    def matches(self, pattern: str) -> bool:
        """True for its id, its area, or a shell pattern such as `search.*-limit*`."""
        return pattern == self.area or fnmatchcase(self.id, pattern)

    def belongs_to(self, profile: Profile) -> bool:
        """Profiles include each other: full has all of core, operational has all of full."""
        return PROFILES.index(self.profile) <= PROFILES.index(profile)


_registry: dict[str, Check] = {}


def check(
    check_id: str,
    sentence: str,
    *,
    level: Level = "must",
    needs: Iterable[str] = (),
    profile: Profile | None = None,
    alone: bool = False,
) -> Callable[[CheckFunction], CheckFunction]:
    """Register an `async def` that takes a Trial and raises `Failure` when the sentence is broken.

    Without a `profile` the needs decide: an option makes it operational, a capability or an
    extension makes it full, nothing makes it core.
    """
    needed = tuple(needs)
    unknown = set(needed) - {*CAPABILITIES, *EXTENSIONS, *OPTIONS}
    if unknown:
        raise ValueError(f"{check_id} needs {sorted(unknown)}, which nobody can claim or give")
    if profile is None:
        options = any(need.startswith("--") for need in needed)
        profile = "operational" if options else "full" if needed else "core"

    def register(function: CheckFunction) -> CheckFunction:
        if check_id in _registry:
            raise ValueError(f"two checks are called {check_id}")
        _registry[check_id] = Check(check_id, sentence, function, level, needed, profile, alone)
        return function

    return register


def all_checks() -> tuple[Check, ...]:
    """Every check, ordered by area, and within an area as in its module."""
    import harness.checks as package

    for module in sorted(iter_modules(package.__path__), key=lambda module: module.name):
        import_module(f"{package.__name__}.{module.name}")
    return tuple(sorted(_registry.values(), key=lambda check: check.area))


def find_check(check_id: str) -> Check | None:
    """The check with this id, or None."""
    return next((check for check in all_checks() if check.id == check_id), None)
