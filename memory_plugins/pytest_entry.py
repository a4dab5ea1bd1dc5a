"""What pytest loads wherever this distribution is installed: options, and the harness on demand.

It imports none of our rooms by itself. `harness` and `contract` are ordinary names, and a project
with folders of that name must get its own, whether it comes first on the path or later.
"""

import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

_FRONT = "harness.pytest_plugin"
_ROOMS = ("contract", "harness")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `memory-harness run` that make sense here."""
    group = parser.getgroup("memory-plugin", "conformance of a memory plugin")
    # Without the entry point, `-p harness.pytest_plugin` adds the same options.
    with suppress(ValueError):
        group.addoption(
            "--memory-plugin-url",
            metavar="URL",
            help="check the plugin at http://host:port or unix:/path against the contract",
        )
        group.addoption("--memory-plugin-profile", choices=("core", "full"), default="full")
        group.addoption(
            "--memory-plugin-timeout", metavar="SECONDS", type=float, help="time for one request"
        )
        group.addoption(
            "--memory-plugin-seed",
            metavar="N",
            type=int,
            help="repeat the generated cases of an earlier run",
        )


def pytest_configure(config: pytest.Config) -> None:
    """Load the harness when it is asked for, and make its marker known in any case."""
    config.addinivalue_line(
        "markers", "memory_plugin_check: a check of a memory plugin's conformance, or its verdict"
    )
    if config.getoption("memory_plugin_url", None):
        foreign = [room for room in _ROOMS if not _is_ours(room)]
        if foreign:
            raise pytest.UsageError(
                f"--memory-plugin-url: this project has its own package {foreign[0]}; run pytest in"
                " a directory without it, or use `memory-harness run URL`"
            )
        _load(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session) -> None:
    """A test module that uses the harness has loaded it by now."""
    if _FRONT in sys.modules and _is_ours("harness"):
        _load(session.config)


def _load(config: pytest.Config) -> None:
    front = import_module(_FRONT)
    if not config.pluginmanager.is_registered(front):
        config.pluginmanager.register(front, _FRONT)


def _is_ours(room: str) -> bool:
    """Whether the name leads to the folder beside this one; nothing of it is executed."""
    with suppress(ImportError, ValueError):
        spec = find_spec(room)
        if spec is not None and spec.origin is not None:
            return Path(spec.origin).parent == Path(__file__).parent.with_name(room)
    return False
