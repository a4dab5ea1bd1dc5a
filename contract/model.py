"""The base of every wire object, and the one place where bytes are parsed into one.

body = parse(MemoryWrite, await request.body())     # raises BadRequest, naming the field
"""

import json
import math
from functools import cache
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from contract.errors import BadRequest

_MESSAGES = {
    "missing": "is required",
    "bool_type": "must be a boolean",
    "dict_type": "must be a JSON object",
    "extra_forbidden": "is not a field of this request",
    "model_type": "must be a JSON object",
    "finite_number": "must be a finite number",
    "float_type": "must be a number",
    "int_type": "must be an integer",
    "list_type": "must be a list",
    "string_type": "must be a string",
    "string_unicode": "must not contain a lone surrogate",
}
_ERRORS_SHOWN = 5
_PATH_SHOWN = 120
_LONGEST_INTEGER = 4300

AnyModel = TypeVar("AnyModel", bound="WireModel")


class WireModel(BaseModel):
    """Strict types, unknown fields ignored, immutable.

    `model_fields_set` distinguishes an absent field from one that was `null`.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    def to_json(self) -> bytes:
        """The object as it is sent: fields that were never set are left out."""
        return self.model_dump_json(exclude_unset=True).encode()


def parse(model: type[AnyModel], body: bytes) -> AnyModel:
    """Parse a body into a wire object, or raise `BadRequest` naming the field and the reason."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
            raise _refusal(error) from None
    # The fast parser rejects some JSON without saying where: a lone surrogate, a number of 5,000
    # digits, deep nesting. The slow one finds the field.
    checked: AnyModel = parse_value(model, load_json(body))
    return checked


def parse_answer(model: type[AnyModel], body: bytes) -> AnyModel:
    """Like `parse`, but a null list is read as empty: some servers send null for an empty list."""
    try:
        return parse(model, body)
    except BadRequest:
        value = load_json(body)
        empty = _null_lists(model, value)
        if not empty:
            raise
    checked: AnyModel = parse_value(model, value | {name: [] for name in empty})
    return checked


def _null_lists(model: type[WireModel], value: object) -> list[str]:
    """The required list fields of the model that the value has as null."""
    if not isinstance(value, dict):
        return []
    fields = model.model_fields.items()
    return [
        name
        for name, field in fields
        if get_origin(field.annotation) is list and name in value and value[name] is None
    ]


def parse_value(kind: Any, value: object, field: str = "") -> Any:
    """Validate a value that is not JSON text, such as a path segment; `field` is its name."""
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise _refusal(error, field) from None


def load_json(body: bytes) -> Any:
    """Any JSON value, including lone surrogates and very long numbers, or `BadRequest`."""
    try:
        return json.loads(body.decode(), parse_int=_integer)
    except json.JSONDecodeError as error:
        reason = f"must be JSON ({error.msg} at line {error.lineno} column {error.colno})"
    except UnicodeDecodeError:
        reason = "must be JSON in UTF-8"
    except RecursionError:
        reason = "must not be nested too deeply"
    raise BadRequest(f"body: {reason}", details={"field": "body"})


def explain(error: ValidationError, field: str = "") -> str:
    """What is wrong, field by field; never repeats a value that was sent."""
    parts = [f"{name}: {reason}" for name, reason in faults(error, field)]
    if error.error_count() > _ERRORS_SHOWN:
        parts.append(f"and {error.error_count() - _ERRORS_SHOWN} more")
    return "; ".join(parts)


def faults(error: ValidationError, field: str = "") -> list[tuple[str, str]]:
    """The first few fields that are wrong, each with the reason; never a value that was sent."""
    rows = error.errors(include_url=False, include_input=False)[:_ERRORS_SHOWN]
    return [(_path(row["loc"], field), _message(row)) for row in rows]


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    config = None if isinstance(kind, type) and issubclass(kind, BaseModel) else _STRICT
    return TypeAdapter(kind, config=config)


_STRICT = ConfigDict(strict=True, hide_input_in_errors=True)


def _refusal(error: ValidationError, field: str = "") -> BadRequest:
    first = error.errors(include_url=False, include_input=False)[0]
    return BadRequest(explain(error, field), details={"field": _path(first["loc"], field)})


def _path(location: tuple[int | str, ...], field: str) -> str:
    path = ".".join(str(part) for part in ([field] if field else []) + list(location)) or "body"
    path = path.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    return path if len(path) <= _PATH_SHOWN else path[:_PATH_SHOWN] + "…"


def _message(row: Any) -> str:
    kind: str = row["type"]
    if kind == "value_error":
        return str(row["ctx"]["error"])
    if kind in _MESSAGES:
        return _MESSAGES[kind]
    if kind in ("too_short", "too_long") and row["ctx"]["field_type"] == "Value":
        # It may be a text or a list; pydantic would speak of items in both.
        bound = "at least {min_length}" if kind == "too_short" else "at most {max_length}"
        return "must have a length of " + bound.format(**row["ctx"])
    # "after validation, not 0" means nothing to the sender of a list.
    text: str = row["msg"].partition(" after validation")[0]
    for start in ("Input should ", "String should ", "List should ", "Dictionary should "):
        if text.startswith(start):
            return "must " + text.removeprefix(start)
    return text


def _integer(digits: str) -> int | float:
    """Python refuses longer integers; infinity is rejected later, with the field's name."""
    return int(digits) if len(digits) <= _LONGEST_INTEGER else math.inf
