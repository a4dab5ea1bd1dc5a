"""Checks a model's arguments against the tool's schema, as far as our tools use schemas."""

import math
from collections.abc import Mapping
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}


class InvalidArguments(dict[str, Any]):
    """Stands for arguments that were not a JSON object; empty, and refused by every tool."""


def with_integers(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """5.0 becomes 5 where the schema wants an integer: some servers only have floats."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    return {
        name: _as_integer(value) if properties.get(name, {}).get("type") == "integer" else value
        for name, value in arguments.items()
    }


def check(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments, for the model to read; None if nothing is."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    if missing:
        return f"{missing[0]} is required."
    if schema.get("additionalProperties") is False:
        unknown = [name for name in arguments if name not in properties]
        if unknown:
            return f"There is no argument {unknown[0]}. There are: {', '.join(properties)}."
    problems = (
        _check_value(name, value, properties.get(name, {})) for name, value in arguments.items()
    )
    return next((problem for problem in problems if problem), None)


def _as_integer(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_value(name: str, value: Any, schema: Mapping[str, Any]) -> str | None:
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        is_bool = isinstance(value, bool)
        if not isinstance(value, _TYPES[kind]) or (is_bool and kind != "boolean"):
            return f"{name} must be of type {kind}."
    if "enum" in schema and value not in schema["enum"]:
        return f"{name} must be one of {', '.join(map(str, schema['enum']))}."
    if isinstance(value, int | float):
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        if not low <= value <= high:
            return f"{name} must be from {low} to {high}."
    return None
