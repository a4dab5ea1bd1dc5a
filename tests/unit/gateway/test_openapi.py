"""The OpenAPI document and the code say the same, both ways."""

from typing import Any

import pytest
from openapi_spec_validator import validate
from starlette.routing import Route

from gateway import wire
from gateway.app import create_app
from gateway.document import openapi
from gateway.settings import Settings

MODELS = (
    wire.NewUser,
    wire.SearchRequest,
    wire.AddRequest,
    wire.AddedMessage,
    wire.FlushRequest,
    wire.EditRequest,
    wire.TextUpload,
)
CREDENTIALS = {"user_id", "user_key"}


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = openapi()["components"]["schemas"][name]
    return found


def test_the_document_is_valid() -> None:
    validate(openapi())


def test_every_route_is_described_and_every_description_is_served() -> None:
    app = create_app(Settings(database_url="postgresql://nowhere", plugin_url="http://nowhere"))
    served = {
        (method, route.path.replace(":path", ""))
        for route in app.routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    described = {
        (method.upper(), path)
        for path, it in openapi()["paths"].items()
        for method in it.keys() - {"parameters"}
    }
    assert served == described


@pytest.mark.parametrize("model", MODELS, ids=lambda it: it.__name__)
def test_every_field_of_a_request_is_described(model: Any) -> None:
    described = schema(model.__name__)
    required = {name for name, it in model.model_fields.items() if it.is_required()}
    assert set(described["properties"]) - CREDENTIALS | required == set(model.model_fields)
    assert set(described["required"]) == required


@pytest.mark.parametrize("model", MODELS, ids=lambda it: it.__name__)
def test_limits_and_defaults_are_those_of_the_code(model: Any) -> None:
    made = model.model_json_schema()["properties"]
    for name, described in schema(model.__name__)["properties"].items():
        if name in CREDENTIALS or name not in made:
            continue
        while "$ref" in described:
            described = schema(described["$ref"].rpartition("/")[2])
        for rule in ("minimum", "maximum", "minItems", "maxItems", "maxLength", "default"):
            if rule in made[name] and made[name][rule] is not None:
                assert described.get(rule) == made[name][rule], (name, rule)


def test_every_operation_describes_its_refusals() -> None:
    for path, it in openapi()["paths"].items():
        for method in it.keys() - {"parameters"}:
            statuses = set(it[method]["responses"])
            if path not in ("/health", "/openapi.json"):
                assert {"401", "503"} <= statuses, (method, path)
