"""The OpenAPI document and the models cannot drift apart."""

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from pydantic import TypeAdapter

import contract
from contract import BadRequest, WireModel, openapi, parse_value, scalars
from tests.unit.contract.schemas import Schema, documented, normal, of_model
from tests.unit.contract.strategies import OBJECTS, bad_json_objects, json_objects, valid

DOCUMENT = openapi()
SCHEMAS: Schema = DOCUMENT["components"]["schemas"]
MODELS = {model.__name__: model for model in OBJECTS}
SCALARS: dict[str, Any] = {
    "Capability": scalars.Capability,
    "Content": scalars.Content,
    "Embedding": scalars.Embedding,
    "ErrorCode": contract.ErrorCode,
    "Extension": scalars.Extension,
    "FieldName": contract.FieldName,
    "FilterValue": contract.FilterValue,
    "MemoryId": scalars.MemoryId,
    "MemoryKind": scalars.MemoryKind,
    "MemorySource": scalars.MemorySource,
    "NamespaceKind": scalars.NamespaceKind,
    "NamespaceName": scalars.NamespaceName,
    "Text": scalars.Text,
    "Time": scalars.Time,
    "Where": contract.Where,
}
# The response of each status code, and its headers.
ENVELOPES = {
    "400": ("bad_request", set()),
    "403": ("forbidden", set()),
    "404": ("not_found", set()),
    "405": ("bad_request", {"Allow"}),
    "413": ("bad_request", set()),
    "429": ("unavailable", {"Retry-After"}),
    "500": ("internal", set()),
    "503": ("unavailable", {"Retry-After"}),
}
EVERYWHERE = {"405", "413", "429", "500", "503"}
ENDPOINTS = {
    ("get", "/v1/health"): {"200"},
    ("put", "/v1/namespaces/{name}"): {"200", "400"},
    ("patch", "/v1/namespaces/{name}"): {"200", "400", "404"},
    ("delete", "/v1/namespaces/{name}"): {"204", "400", "404"},
    ("post", "/v1/namespaces/{name}/memories"): {"201", "400", "403", "404"},
    ("post", "/v1/search"): {"200", "400"},
    ("delete", "/v1/memories/{id}"): {"204", "400", "403", "404"},
    ("post", "/v1/memories/batch"): {"200", "400", "404"},
    ("post", "/v1/memories/list"): {"200", "400", "404"},
    ("post", "/v1/memories/count"): {"200", "400", "404"},
    ("get", "/v1/memories/{id}"): {"200", "400", "403", "404"},
}


def operations() -> Iterator[tuple[str, str, Schema]]:
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                yield method, path, operation


def resolve(node: Schema) -> Schema:
    """Follow one reference, if the node is one."""
    if "$ref" not in node:
        return node
    target: Any = DOCUMENT
    for part in node["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return dict(target)


def bodies() -> Iterator[tuple[str, Schema]]:
    """Every request and response body of the document, with where it stands."""
    for method, path, operation in operations():
        if "requestBody" in operation:
            yield f"{method} {path}", operation["requestBody"]["content"]["application/json"]
        for status, response in operation["responses"].items():
            content = resolve(response).get("content")
            if content is not None:
                yield f"{method} {path} {status}", content["application/json"]


def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1.")
    assert DOCUMENT["info"]["version"] == contract.CONTRACT_VERSION


def test_every_schema_of_the_document_has_a_type_and_every_type_a_schema() -> None:
    assert set(SCHEMAS) == set(MODELS) | set(SCALARS) | {"JsonObject", "JsonValue"}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_and_its_schema_say_the_same(name: str) -> None:
    assert documented(name) == of_model(MODELS[name].model_json_schema())


@pytest.mark.parametrize("name", MODELS)
def test_a_model_and_its_schema_are_explained_in_the_same_words(name: str) -> None:
    assert SCHEMAS[name]["description"].split() == (MODELS[name].__doc__ or "").split()


@pytest.mark.parametrize("name", SCALARS)
def test_a_scalar_and_its_schema_say_the_same(name: str) -> None:
    assert documented(name) == of_model(TypeAdapter(SCALARS[name]).json_schema())
    assert SCHEMAS[name]["description"]


def _drop(*path: str) -> Callable[[Schema], object]:
    def change(schemas: Schema) -> object:
        *parents, last = path
        for part in parents:
            schemas = schemas[part]
        return schemas.pop(last)

    return change


@pytest.mark.parametrize(
    ("name", "drift"),
    [
        ("SearchRequest", lambda it: it["SearchRequest"]["properties"]["limit"].update(maximum=99)),
        ("SearchRequest", lambda it: it["SearchRequest"]["properties"]["limit"].pop("default")),
        ("SearchRequest", lambda it: it["SearchRequest"].update(additionalProperties=False)),
        ("SearchRequest", lambda it: it["Embedding"]["items"].pop("maximum")),
        ("MemoryWrite", lambda it: it["MemoryWrite"]["required"].remove("source")),
        ("MemoryWrite", lambda it: it["MemoryWrite"]["properties"].update(tags={"type": "array"})),
        ("MemoryWrite", _drop("MemoryWrite", "properties", "pin")),
        ("MemoryWrite", lambda it: it["MemoryKind"]["enum"].append("dream")),
        ("MemoryWrite", lambda it: it["Content"].update(pattern="^.*$")),
        ("MemoryWrite", lambda it: it["MemoryWrite"]["properties"]["id"]["anyOf"].pop()),
        ("NamespacePatch", lambda it: it["NamespacePatch"]["anyOf"].pop()),
        ("Namespace", lambda it: it["Time"].update(format="date")),
        ("BatchRequest", lambda it: it["BatchRequest"]["properties"]["writes"].pop("maxItems")),
        ("BatchRequest", lambda it: it["BatchWrite"]["required"].remove("namespace")),
        ("DegradedHealth", lambda it: it["DegradedHealth"]["properties"].pop("status")),
        ("SearchRequest", lambda it: it["Where"].update(maxProperties=9)),
        ("ListRequest", lambda it: it["FilterValue"]["anyOf"].pop()),
        ("CountRequest", lambda it: it["FieldName"].update(maxLength=65)),
    ],
)
def test_the_comparison_notices_a_drift(name: str, drift: Callable[[Schema], object]) -> None:
    schemas = copy.deepcopy(SCHEMAS)
    drift(schemas)
    assert normal(schemas[name], schemas) != of_model(MODELS[name].model_json_schema())


def schema_validator(name: str) -> Draft202012Validator:
    reference = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": SCHEMAS}}
    return Draft202012Validator(reference)


@pytest.mark.parametrize("model", OBJECTS, ids=lambda model: model.__name__)
@settings(max_examples=15)
@given(st.data())
def test_the_schema_accepts_what_a_model_accepts(
    model: type[WireModel], data: st.DataObject
) -> None:
    sent = data.draw(valid(model))
    schema_validator(model.__name__).validate(sent)


@given(json_objects)
def test_the_opaque_object_is_the_same(value: dict[str, Any]) -> None:
    schema_validator("JsonObject").validate(value)
    assert parse_value(scalars.JsonObject, value) == value


@given(bad_json_objects)
def test_the_schema_refuses_a_nul_character_too(value: Any) -> None:
    with pytest.raises(BadRequest):
        parse_value(scalars.JsonObject, value, "metadata")
    if "\\x00" in repr(value) or not isinstance(value, dict):
        assert not schema_validator("JsonObject").is_valid(value)


def test_the_operations_are_the_endpoints_of_the_contract() -> None:
    found = {
        (method, path): set(operation["responses"]) for method, path, operation in operations()
    }
    assert found == {key: statuses | EVERYWHERE for key, statuses in ENDPOINTS.items()}


def test_every_error_carries_the_envelope_with_its_code_and_headers() -> None:
    for method, path, operation in operations():
        for status, reference in operation["responses"].items():
            response = resolve(reference)
            if status.startswith("2"):
                assert ("content" in response) == (status != "204")
                continue
            code, headers = ENVELOPES[status]
            body = response["content"]["application/json"]
            health = (path, status) == ("/v1/health", "503")
            expected = "DegradedHealth" if health else "Error"
            assert body["schema"]["$ref"].endswith(f"/{expected}"), (method, path, status)
            assert {example["value"]["code"] for example in body["examples"].values()} == {code}
            assert set(response.get("headers", ())) == headers
            assert all(resolve(it)["required"] for it in response.get("headers", {}).values())


def test_every_body_has_examples_that_fit_schema_and_model() -> None:
    seen = 0
    for place, body in bodies():
        name = body["schema"]["$ref"].rsplit("/", 1)[1]
        assert body["examples"], place
        for example in body["examples"].values():
            schema_validator(name).validate(example["value"])
            assert parse_value(MODELS[name], example["value"]) is not None
            seen += 1
    assert seen > 60


def test_the_extensions_are_marked_and_nothing_else_is() -> None:
    marked = {
        operation["x-extension"]: f"{method} {path}"
        for method, path, operation in operations()
        if "x-extension" in operation
    }
    assert marked == {
        "batch": "post /v1/memories/batch",
        "list": "post /v1/memories/list",
        "browse": "post /v1/memories/count",
        "get": "get /v1/memories/{id}",
    }
    assert {*marked, "filter"} == set(contract.EXTENSIONS)
    for _, _, operation in operations():
        assert ("extensions" in operation["tags"]) == ("x-extension" in operation)


def test_the_fields_of_an_extension_are_marked_and_nothing_else_is() -> None:
    times = {"where": "filter", "created_after": "filter", "created_before": "filter"}
    expected = {
        "SearchRequest": times,
        "ListRequest": times | {"order": "browse", "kinds": "browse"},
        "CountRequest": times,
    }
    marked = {
        name: {
            field: schema["x-extension"]
            for field, schema in item.get("properties", {}).items()
            if "x-extension" in schema
        }
        for name, item in SCHEMAS.items()
    }
    assert {name: fields for name, fields in marked.items() if fields} == expected


def test_a_health_answer_may_have_unknown_names() -> None:
    health = {"status": "ok", "version": "1", "capabilities": ["x"], "extensions": ["y"]}
    schema_validator("HealthResponse").validate(health)


def test_every_operation_can_be_called_by_name_and_every_link_leads_to_one() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names))
    links = DOCUMENT["components"]["links"]
    assert {link["operationId"] for link in links.values()} <= set(names)


def test_the_document_is_the_callers_own() -> None:
    openapi()["paths"].clear()
    assert openapi()["paths"]


def test_the_module_prints_the_document() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "contract"], check=True, capture_output=True, encoding="utf-8"
    )
    assert printed.stderr == ""
    assert yaml.safe_load(printed.stdout) == DOCUMENT
