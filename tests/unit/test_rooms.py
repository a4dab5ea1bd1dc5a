"""Who may import whom, and what each package offers: the rules of ARCHITECTURE.md."""

import ast
import importlib
import importlib.metadata
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_plugins.commands import EXTRAS, ROOMS

ROOT = Path(__file__).parents[2]
MAY_IMPORT = {
    "contract": set[str](),
    "serving": set[str](),
    "language": set[str](),
    "postgres": {"serving"},
    "plugin_postgres": {"contract", "serving", "postgres"},
    "gateway": {"contract", "serving", "postgres", "language"},
    "recall": {"contract", "serving", "postgres", "language"},
    "conversations": {"contract", "serving", "postgres", "language"},
    "agent": set[str](),
    "harness": {"contract"},
    "backfill": {"contract", "postgres"},
}
OURS = {*MAY_IMPORT, "memory_plugins", "tests", "bench", "demo"}
# The package that everybody imports has few dependencies.
CONTRACT_NEEDS = {"httpx", "pydantic", "yaml"}


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def packages() -> list[str]:
    """The rooms, and what is inside them and has an `__all__`, by their dotted names."""
    inits = [path for room in MAY_IMPORT for path in modules(room) if path.name == "__init__.py"]
    names = {".".join(it.parent.relative_to(ROOT).parts): it.read_text() for it in inits}
    return [name for name, text in names.items() if name in MAY_IMPORT or "__all__" in text]


def imports(source: str) -> Iterator[str]:
    """The top-level names that a module imports, wherever in it and however it does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." if node.level else (node.module or "").split(".")[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            text = node.args[0] if node.args else None
            if name in ("import_module", "__import__") and isinstance(text, ast.Constant):
                yield str(text.value).split(".")[0]


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    assert modules(room), "the room is empty"
    allowed = MAY_IMPORT[room] | {room}
    for path in modules(room):
        strangers = {name for name in imports(path.read_text()) if name in OURS - allowed}
        assert not strangers, f"{path.relative_to(ROOT)} must not import {sorted(strangers)}"


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_are_absolute(room: str) -> None:
    for path in modules(room):
        assert "." not in imports(path.read_text()), f"{path} has a relative import"


def test_the_contract_needs_little() -> None:
    for path in modules("contract"):
        foreign = set(imports(path.read_text())) - set(sys.stdlib_module_names) - {"contract"}
        assert foreign <= CONTRACT_NEEDS, path


def test_importing_the_contract_loads_no_other_room() -> None:
    code = f"import contract, sys; print(*({OURS!r} & sys.modules.keys()))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert loaded.stdout.split() == ["contract"]


@pytest.mark.parametrize(
    "source",
    [
        "import plugin_postgres",
        "import plugin_postgres.app as app",
        "from plugin_postgres import app",
        "from plugin_postgres.app import create_app",
        "def f():\n    from plugin_postgres import app",
        "if TYPE_CHECKING:\n    import plugin_postgres",
        "importlib.import_module('plugin_postgres.app')",
        "__import__('plugin_postgres')",
    ],
)
def test_a_forbidden_import_would_be_noticed(source: str) -> None:
    assert "plugin_postgres" in imports(source)


def offered(package: str) -> set[str]:
    """The public names that a package's `__init__` defines, or takes from its own room."""
    path = ROOT.joinpath(*package.split("."), "__init__.py")
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_")}


def constants_classes_functions(name: str) -> tuple[int, str]:
    """The order of ruff's RUF022."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("package", packages())
def test_all_is_sorted_and_complete(package: str) -> None:
    module = importlib.import_module(package)
    exported = list(getattr(module, "__all__", []))
    assert set(exported) == offered(package)
    assert exported == sorted(exported, key=constants_classes_functions)
    for name in exported:
        assert hasattr(module, name)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_is_typed_and_documented(room: str) -> None:
    assert (ROOT / room / "py.typed").exists()
    assert importlib.import_module(room).__doc__


def test_the_commands_are_there() -> None:
    found = importlib.metadata.distribution("memory-plugins").entry_points
    commands = {it.name: it for it in found if it.group == "console_scripts"}
    assert set(commands) == set(ROOMS)
    for name, command in commands.items():
        assert command.value == f"memory_plugins.commands:{ROOMS[name]}"
        assert callable(command.load())
        assert callable(importlib.import_module(f"{ROOMS[name]}.cli").main)


def test_every_command_has_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(EXTRAS.values()) <= set(project["optional-dependencies"])
