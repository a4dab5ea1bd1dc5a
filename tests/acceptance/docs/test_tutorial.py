"""The plugin of the tutorial goes through every front of the harness that the next page has."""

import re
from pathlib import Path

import pytest

from tests.acceptance.docs.sandbox import Sandbox
from tests.unit.docs.pages import Fence, page

SECONDS = 550.0  # less than a test may take

TUTORIAL = page("docs/memory-plugins/README.md").fences
TESTING = page("docs/memory-plugins/testing-your-plugin.md").fences


def _saved_as(fences: list[Fence], name: str) -> str:
    return "".join(fence.text for fence in fences if fence.file == name)


def _with_the_plugin_of_the_tutorial(text: str) -> str:
    """As a reader changes the examples: their own application in place of ours."""
    own = text.replace("from harness.example import create_app", "from my_plugin import app")
    assert own != text
    return own.replace("create_app()", "app")


@pytest.fixture
def sandbox(tmp_path: Path, databases: dict[str, str]) -> Sandbox:
    (tmp_path / "my_plugin.py").write_text(_saved_as(TUTORIAL, "my_plugin.py"))
    return Sandbox(tmp_path, databases)


def test_by_the_command_and_by_pytest_against_its_url(sandbox: Sandbox) -> None:
    [by_url] = [fence.text for fence in TESTING if "--memory-plugin-url" in fence.text]
    [serve, *_] = [fence.text for fence in TUTORIAL if fence.text.startswith("uvicorn ")]
    command = "memory-harness run http://127.0.0.1:9100 --only health --only idempotency"
    sandbox.execute(f"{serve}\n{command} || [ $? = 4 ]\n{by_url}\nkill %1", SECONDS)


def test_by_pytest_as_an_asgi_application(sandbox: Sandbox, tmp_path: Path) -> None:
    for name in ("test_my_plugin.py", "test_idempotency.py"):
        own = _with_the_plugin_of_the_tutorial(_saved_as(TESTING, name))
        (tmp_path / name).write_text(own)
    [command] = [fence.text for fence in TESTING if "test_my_plugin.py test_" in fence.text]
    sandbox.execute(command, SECONDS)
    passed = re.search(r"(\d+) passed", (tmp_path / "log").read_text())
    assert passed
    assert int(passed[1]) > 10


def test_by_python(sandbox: Sandbox, tmp_path: Path) -> None:
    [script] = [f.text for f in TESTING if f.language == "python" and f.file is None]
    (tmp_path / "judge.py").write_text(_with_the_plugin_of_the_tutorial(script))
    sandbox.execute("python judge.py", SECONDS)
