"""Entry points of the installed commands.

Each room is installed with every command, but its dependencies come with an extra. A command whose
extra is missing says so in one line instead of a traceback.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

ROOMS = {
    "memory-agent": "agent",
    "memory-backfill": "backfill",
    "memory-conversations": "conversations",
    "memory-gateway": "gateway",
    "memory-harness": "harness",
    "memory-plugin-postgres": "plugin_postgres",
    "memory-recall": "recall",
}
EXTRAS = {command: room.removesuffix("_postgres") for command, room in ROOMS.items()}


def agent() -> None:
    _run("memory-agent")


def backfill() -> None:
    _run("memory-backfill")


def conversations() -> None:
    _run("memory-conversations")


def gateway() -> None:
    _run("memory-gateway")


def harness() -> None:
    _run("memory-harness")


def plugin_postgres() -> None:
    _run("memory-plugin-postgres")


def recall() -> None:
    _run("memory-recall")


def _run(command: str) -> None:
    try:
        main: Callable[[], None] = import_module(f"{ROOMS[command]}.cli").main
    except ModuleNotFoundError as error:
        _explain(command, error)
    main()


def _explain(command: str, error: ModuleNotFoundError) -> NoReturn:
    missing = error.name or ""
    if missing.partition(".")[0] in {
        *ROOMS.values(),
        "contract",
        "language",
        "postgres",
        "serving",
    }:
        raise error  # a defect of ours, not a missing extra
    sys.exit(
        f"{command}: the package {missing} is not installed;"
        f" run: pip install 'memory-plugins[{EXTRAS[command]}]'"
    )
