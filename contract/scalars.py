"""The small values that wire objects are made of: names, times, texts, numbers.

Each is an annotated type, so validation is the same wherever the value appears. All are strict: a
string is not a number, a number is not a boolean.
"""

import math
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)

NAMESPACE_PATTERN = r"^[a-z]+:[A-Za-z0-9_:.\-]+$"
MAX_DEPTH = 100
MAX_FLOAT = 3.4028235e38  # the largest 32-bit float, the type that vector stores use

# Unicode's White_Space, spelled out because \s differs between languages.
_BLANK = r"\t\n\x0b\x0c\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_NOT_BLANK = re.compile(f"[^{_BLANK}]")
TEXT_PATTERN = r"^[^\x00]*$"
_CONTENT_PATTERN = rf"^[^\x00]*[^\x00{_BLANK}][^\x00]*$"

_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d\d):(\d\d))",
    re.ASCII,
)
# The form that servers send, which needs none of the special cases below.
_UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(?:\.\d{1,6})?Z", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def parse_time(value: object) -> datetime:
    """Parse an RFC 3339 time as a UTC datetime, truncated to the microsecond.

    A time without an offset is rejected: it would mean a different instant on every machine.
    """
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ValueError("must be a time with an offset, such as 2026-01-31T12:00:00Z")
        return _in_utc(value)
    if isinstance(value, str) and _UTC_TIME.fullmatch(value):
        with suppress(ValueError):
            return datetime.fromisoformat(value)
    match = _RFC3339.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            "must be an RFC 3339 time with an offset, such as 2026-01-31T12:00:00Z"
            " or 2026-01-31T12:00:00.123456+02:00"
        )
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    micros = int((match[7] or "").ljust(9, "0")[:6])
    zone = UTC
    if match[9]:
        if int(match[10]) > 23 or int(match[11]) > 59:
            raise ValueError("must be a real time: the offset is out of range")
        offset = timedelta(hours=int(match[10]), minutes=int(match[11]))
        zone = timezone(-offset if match[9] == "-" else offset)
    # RFC 3339 allows a leap second; it becomes the first instant of the next minute.
    leap = second == 60
    try:
        moment = datetime(year, month, day, hour, minute, 59 if leap else second, micros, zone)
    except ValueError:
        raise ValueError("must be a real time: its date or clock is out of range") from None
    return _in_utc(moment, timedelta(seconds=1) if leap else timedelta())


def _in_utc(moment: datetime, add: timedelta = timedelta()) -> datetime:
    try:
        return moment.astimezone(UTC) + add
    except OverflowError:
        raise ValueError("must be within the years 0001 to 9999 in UTC") from None


def format_time(moment: datetime) -> str:
    """Write a time as RFC 3339 in UTC with `Z`, the only form that is sent."""
    if moment.tzinfo is not UTC:  # nearly every time is in UTC already
        moment = moment.astimezone(UTC)
    return moment.isoformat()[: -len("+00:00")] + "Z"


def check_text(value: str) -> str:
    """Reject what PostgreSQL or JSON cannot represent: NUL and lone surrogates."""
    if "\x00" in value:
        raise ValueError("must not contain a NUL character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("must not contain a lone surrogate") from None
    return value


def check_content(value: str) -> str:
    """Also reject a blank text."""
    return _check_not_blank(check_text(value))


def _check_not_blank(value: str) -> str:
    if not _NOT_BLANK.search(value):
        raise ValueError("must not be blank")
    return value


def _check_json(value: object, depth: int) -> None:
    """Reject, at any depth, what would not come back unchanged."""
    if isinstance(value, str):
        check_text(value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("must contain only finite numbers")
    elif isinstance(value, dict | list):
        if depth == MAX_DEPTH:
            raise ValueError(f"must not be nested deeper than {MAX_DEPTH} levels")
        for key in value if isinstance(value, dict) else ():
            if not isinstance(key, str):
                raise ValueError("must have strings as keys")
            check_text(key)
        for item in value.values() if isinstance(value, dict) else value:
            _check_json(item, depth + 1)
    elif not (value is None or isinstance(value, bool | int)):
        raise ValueError("must contain only JSON values")


def _check_json_object(value: object) -> object:
    if isinstance(value, dict):
        _check_json(value, 0)
    return value


def _parse_uuid(value: object) -> UUID:
    if isinstance(value, UUID):
        return value
    if isinstance(value, str) and _UUID.fullmatch(value):
        return UUID(value)
    raise ValueError("must be a UUID, such as 018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11")


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Time = Annotated[
    datetime,
    BeforeValidator(parse_time),
    PlainSerializer(format_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""An instant: RFC 3339 with an offset on the way in, UTC with `Z` on the way out."""

Text = Annotated[
    str,
    AfterValidator(check_text),
    WithJsonSchema({"type": "string", "pattern": TEXT_PATTERN}),
]
"""Any string without NUL characters and lone surrogates; stored byte for byte."""

Content = Annotated[
    str,
    AfterValidator(check_content),
    WithJsonSchema({"type": "string", "pattern": _CONTENT_PATTERN}),
]
"""The text of a memory: not blank; stored byte for byte, never trimmed or normalised."""

NamespaceName = Annotated[
    str, StringConstraints(min_length=1, max_length=256, pattern=NAMESPACE_PATTERN)
]
"""`kind:identifier`, such as `workspace:018f…`; 1 to 256 characters."""

MemoryId = Annotated[
    UUID,
    BeforeValidator(_parse_uuid),
    WithJsonSchema({"type": "string", "format": "uuid"}),
]
"""A UUID in its usual hyphenated form; case does not matter."""

JsonObject = Annotated[dict[str, Any], BeforeValidator(_check_json_object)]
"""An opaque JSON object: stored and returned unchanged, up to 100 levels of nesting."""

Embedding = Annotated[
    list[Annotated[float, Field(ge=-MAX_FLOAT, le=MAX_FLOAT, allow_inf_nan=False)]],
    Field(min_length=1),
]
"""A vector of finite numbers that fit in 32-bit floats; its length is its dimension."""

WHOLE = BeforeValidator(_whole)
"""For an integer field: JSON has one number type, so 5.0 is the integer 5."""

Capability = Literal["embedding", "fts", "ttl", "pin", "propagation"]
Extension = Literal["batch", "list", "filter", "browse", "get"]
NamespaceKind = Literal["workspace", "team", "org", "custom"]
MemoryKind = Literal["fact", "summary", "checkpoint"]
MemorySource = Literal["agent", "runtime", "user"]
