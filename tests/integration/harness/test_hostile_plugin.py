"""A plugin whose every answer attacks the reader of the report."""

import json
from io import StringIO

import pytest
from rich.console import Console
from starlette.requests import Request
from starlette.responses import Response

from harness import Report, Settings, run
from harness.example import ExamplePlugin, Store
from harness.progress import Progressed
from harness.render import FORMATS

ATTACK = "\ud800\x1b]0;owned\x07</script><script>alert(1)</script>]]>[bold]\u202e"


class Hostile(ExamplePlugin):
    """Attacks in its health, in search results and in stored content."""

    async def health(self, request: Request) -> Response:
        honest = json.loads(bytes((await super().health(request)).body))
        return attack(200, json.dumps(honest | {"version": ATTACK, "capabilities": [ATTACK]}))

    async def search(self, request: Request) -> Response:
        honest = await super().search(request)
        return attack(418, ATTACK) if json.loads(bytes(honest.body))["memories"] else honest

    async def put_namespace(self, request: Request) -> Response:
        honest = json.loads(bytes((await super().put_namespace(request)).body))
        return attack(200, json.dumps(honest | {"metadata": {ATTACK: ATTACK}}))


def attack(status: int, body: str) -> Response:
    return Response(body.encode(errors="surrogatepass"), status, {"server": "\x1b[31m<b>"})


@pytest.fixture(scope="module")
def told() -> tuple[Report, str]:
    """The report, and what the terminal showed."""
    console = Console(file=StringIO(), force_terminal=True, width=200)
    with Progressed(console, live=False) as progressed:
        settings = Settings(only=("namespaces", "search", "health"))
        report = run(Hostile(Store()).app, settings, reporters=[progressed])
    assert isinstance(console.file, StringIO)
    return report, console.file.getvalue()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_written(told: tuple[Report, str], name: str) -> None:
    report, _ = told
    assert report.verdict == "not conformant"
    assert FORMATS[name](report).encode()


def test_the_json_report_can_be_read_again(told: tuple[Report, str]) -> None:
    report, _ = told
    assert Report.model_validate_json(report.to_json()) == report


def test_a_plugin_cannot_control_the_terminal(told: tuple[Report, str]) -> None:
    _, shown = told
    assert r"\u001b]0;owned\u0007" in shown
    assert "\x1b]" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
