"""The base of every wire object, and the one place where bytes become one.

body = parse(MemoryWrite, await request.body())     # raises BadRequest, naming the field
"""

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from contract.errors import BadRequest

_MESSAGES = {
    "missing": "is required",
    "extra_forbidden": "is not known",
    "bool_type": "must be a boolean",
    "dict_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "finite_number": "must be a finite number",
    "float_type": "must be a number",
    "int_type": "must be an integer",
    "list_type": "must be a list",
    "string_type": "must be a string",
}
_ERRORS_SHOWN = 5
_PATH_SHOWN = 120

AnyModel = TypeVar("AnyModel", bound="WireModel")
Value = TypeVar("Value")


class WireModel(BaseModel):
    """Strict types, unknown fields ignored, immutable.

    `model_fields_set` tells a field that was absent from one that was `null`.
    """

    model_config = ConfigDict(
        strict=True, extra="ignore", frozen=True, hide_input_in_errors=True, populate_by_name=True
    )

    def to_json(self) -> bytes:
        """The object as it goes over the wire: fields that were never set are left out."""
        return self.model_dump_json(exclude_unset=True).encode()


def parse(model: type[AnyModel], body: bytes) -> AnyModel:
    """Read one wire object from a body, or raise `BadRequest` naming the field and the reason."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise _refusal(error, body) from None


def parse_value(kind: Any, value: object, field: str) -> Any:
    """Check one value that stands outside a body, such as a path segment."""
    try:
        return TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        reason = _message(error.errors(include_url=False, include_input=False)[0])
        raise BadRequest(f"{field}: {reason}", details={"field": field}) from None


def explain(error: ValidationError) -> str:
    """What is wrong, field by field; never a value that was sent."""
    rows = error.errors(include_url=False, include_input=False)
    parts = [f"{_path(row['loc'])}: {_message(row)}" for row in rows[:_ERRORS_SHOWN]]
    if len(rows) > _ERRORS_SHOWN:
        parts.append(f"and {len(rows) - _ERRORS_SHOWN} more")
    return "; ".join(parts)


def _refusal(error: ValidationError, body: bytes) -> BadRequest:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        place = _lone_surrogate(body)
        if place is not None:
            message = f"{place}: must not contain a lone surrogate"
            return BadRequest(message, details={"field": place})
    return BadRequest(explain(error), details={"field": _path(first["loc"])})


def _path(location: tuple[int | str, ...]) -> str:
    path = ".".join(str(part) for part in location) or "body"
    path = path.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    return path if len(path) <= _PATH_SHOWN else path[:_PATH_SHOWN] + "…"


def _message(row: Any) -> str:
    kind: str = row["type"]
    if kind == "value_error":
        return str(row["ctx"]["error"])
    if kind == "json_invalid":
        return f"must be JSON ({row['ctx']['error']})"
    if kind in _MESSAGES:
        return _MESSAGES[kind]
    text: str = row["msg"]
    for start in ("Input should ", "String should ", "List should "):
        if text.startswith(start):
            return "must " + text.removeprefix(start)
    return text


def _lone_surrogate(body: bytes) -> str | None:
    """The path of the first string with a lone surrogate in a body that is otherwise JSON.

    The fast parser refuses the whole body without saying where; the reader deserves the field.
    """
    try:
        found = _walk(json.loads(body), ())
    except (ValueError, RecursionError):
        return None
    return None if found is None else _path(found)


def _walk(value: object, path: tuple[int | str, ...]) -> tuple[int | str, ...] | None:
    if isinstance(value, str):
        return path if _has_surrogate(value) else None
    items: list[tuple[int | str, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, item in items:
        if isinstance(key, str) and _has_surrogate(key):
            return (*path, key)
        found = _walk(item, (*path, key))
        if found is not None:
            return found
    return None


def _has_surrogate(value: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in value)
