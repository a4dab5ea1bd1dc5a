"""JSON Schemas in a normal form, so that equivalent ones are equal."""

import json
from typing import Any

from contract import openapi

Schema = dict[str, Any]

_ANNOTATIONS = {"title", "description", "examples"}
# A schema for "any JSON without NUL characters" is recursive in the document; the model checks
# it in code, and `test_the_opaque_object_is_the_same` compares the two.
_OPAQUE = {"JsonObject": {"type": "object"}}


def normal(schema: Any, definitions: Schema) -> Any:
    """The schema with references resolved, without annotations that do not affect validity."""
    if isinstance(schema, list):
        return sorted((normal(item, definitions) for item in schema), key=_text)
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return _OPAQUE.get(name) or normal(definitions[name], definitions)
    result: Schema = {}
    for key, value in schema.items():
        if key in _ANNOTATIONS or key.startswith("x-") or (key, value) == ("default", None):
            continue
        if (key, value) == ("additionalProperties", True):
            continue
        if key == "const":
            result["enum"] = [value]
        elif key == "properties":
            result[key] = {name: normal(item, definitions) for name, item in value.items()}
        elif key == "anyOf" and {} in value:
            # The writes of a batch: an invalid item gets its own result.
            (result[key],) = [[normal(item, definitions)] for item in value if item]
        else:
            result[key] = normal(value, definitions)
    if len(result.get("anyOf", ())) == 1:
        result |= result.pop("anyOf")[0]
    return result


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def documented(name: str) -> Any:
    """A schema of the document, in normal form."""
    definitions = openapi()["components"]["schemas"]
    return normal(definitions[name], definitions)


def of_model(schema: Schema) -> Any:
    """A schema that pydantic made, in normal form."""
    return normal({k: v for k, v in schema.items() if k != "$defs"}, schema.get("$defs", {}))
