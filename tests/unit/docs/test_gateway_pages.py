"""The pages of the gateway name what the code has, and all of it."""

import re

from gateway.document import openapi
from gateway.settings import SETTINGS
from tests.unit.docs.pages import ROOT, page
from tests.unit.docs.settings_table import HEAD, row

OPERATING = "docs/memory-gateway/operating.md"
WIRE = "docs/memory-gateway/wire.md"


def test_the_settings_are_those_of_the_code() -> None:
    assert page(OPERATING).table(*HEAD).rows == [row(it) for it in SETTINGS]


def test_the_metrics_are_those_of_the_code() -> None:
    rows = page(OPERATING).table("Name", "What it counts").rows
    named = {it[0].strip("`").removesuffix("_total") for it in rows}
    source = (ROOT / "gateway" / "metrics.py").read_text()
    made = set(re.findall(r'metrics\.(?:counter|gauge)\(\s*"(\w+)"', source))
    assert named == {f"memory_gateway_{it}" for it in made} | {"memory_gateway_request_seconds"}


def test_the_endpoints_are_those_of_the_document() -> None:
    listed = {
        row[0].strip("`") for row in page(WIRE).table("Method and path", "Who", "Success").rows
    }
    paths = openapi()["paths"]
    described = {
        f"{method.upper()} {path}"
        for path, it in paths.items()
        for method in it.keys() - {"parameters"}
    }
    assert described == listed | {"GET /openapi.json", "GET /metrics"}


def test_the_errors_are_those_of_the_document() -> None:
    codes = page(WIRE).table("Status", "Code", "What to do").column("Code")
    described = openapi()["components"]["schemas"]["Error"]["properties"]["code"]["enum"]
    assert {it.strip("`") for it in codes} == set(described)
