"""Broken plugins: each is the example with one small defect, and names the checks that find it.

@mutant("The limit of 100 returns 99 rows.", "limits.exactly-100")
class LimitIsOneShort(Store): ...
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from starlette.responses import Response

from contract import CAPABILITIES, EXTENSIONS
from harness.example import ExamplePlugin, Store
from harness.target import AsgiApp

Broken = TypeVar("Broken", bound=type[Store] | type[ExamplePlugin])


@dataclass(frozen=True)
class Mutant:
    """One broken plugin, and the checks that must fail for it."""

    name: str
    area: str
    fault: str
    killed_by: tuple[str, ...]
    only_warns: bool
    build: Callable[[], AsgiApp]


_mutants: list[Mutant] = []


def mutant(
    fault: str, *killed_by: str, without: tuple[str, ...] = (), only_warns: bool = False
) -> Callable[[Broken], Broken]:
    """Register a broken store, or a broken plugin on a correct store.

    `without` switches capabilities and extensions off. `only_warns` is for a defect that does not
    break a `must` but that the author should know.
    """

    def register(broken: Broken) -> Broken:
        def build() -> AsgiApp:
            capabilities = [name for name in CAPABILITIES if name not in without]
            extensions = [name for name in EXTENSIONS if name not in without]
            if issubclass(broken, Store):
                return ExamplePlugin(broken(), capabilities, extensions).app
            return broken(Store(), capabilities, extensions).app

        name = re.sub(r"(?<!^)(?=[A-Z0-9])", "-", broken.__name__).lower()
        area = broken.__module__.rpartition(".")[2]
        _mutants.append(Mutant(name, area, fault, killed_by, only_warns, build))
        return broken

    return register


def all_mutants() -> list[Mutant]:
    """Every mutant of every module in this package."""
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        import_module(f"{__name__}.{module.name}")
    return list(_mutants)


def edited(response: Response, change: Callable[[Any], Any]) -> Response:
    """The same answer with another body."""
    body = change(json.loads(bytes(response.body)))
    return Response(json.dumps(body), response.status_code, media_type="application/json")
