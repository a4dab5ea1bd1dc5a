"""The extension `filter`: which memories a search, a listing or a count looks at."""

import math
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainValidator, StringConstraints, WithJsonSchema

from contract.model import WireModel
from contract.scalars import TEXT_PATTERN, Time, check_text

MAX_PAIRS = 8
MAX_FIELD_NAME = 64
MAX_FILTER_TEXT = 512


def _check_value(value: Any) -> Any:
    if isinstance(value, str):
        if len(value) > MAX_FILTER_TEXT:
            raise ValueError(f"must have at most {MAX_FILTER_TEXT} characters")
        return check_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("must be a finite number")
    if not isinstance(value, bool | int | float):
        raise ValueError("must be a string, a number or a boolean")
    return value


_NAME_SCHEMA = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_FIELD_NAME,
    "pattern": TEXT_PATTERN,
}
_VALUE_SCHEMA = {
    "anyOf": [
        {"type": "string", "maxLength": MAX_FILTER_TEXT, "pattern": TEXT_PATTERN},
        {"type": "number"},
        {"type": "boolean"},
    ]
}
_WHERE_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": MAX_PAIRS,
    "propertyNames": _NAME_SCHEMA,
    "additionalProperties": _VALUE_SCHEMA,
}

FieldName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_FIELD_NAME),
    AfterValidator(check_text),
    WithJsonSchema(_NAME_SCHEMA),
]
"""The name of a top-level field of `propagation`, 1 to 64 characters."""

FilterValue = Annotated[
    str | int | float | bool, PlainValidator(_check_value), WithJsonSchema(_VALUE_SCHEMA)
]
"""What a field is compared with: a string of at most 512 characters, a number or a boolean."""

Where = Annotated[
    dict[FieldName, FilterValue],
    Field(min_length=1, max_length=MAX_PAIRS),
    WithJsonSchema(_WHERE_SCHEMA),
]
"""1 to 8 pairs of a field name and a value; a memory must match all of them."""


class Filtered(WireModel):
    """The fields that the extension `filter` adds to a request."""

    where: Where | None = Field(default=None, repr=False)
    created_after: Time | None = None
    created_before: Time | None = None
