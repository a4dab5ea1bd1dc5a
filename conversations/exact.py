"""JSON whose numbers come back exactly as they were sent.

A number is kept as the characters it was written with: a float or a 64-bit integer could change it.
"""

import json
import re
from codecs import BOM_UTF8
from typing import Any

import orjson

from conversations.errors import BadRequest

MAX_DEPTH = 64
_LONGEST_NAME = 200
# How far to look for the name of a field that is nested too deeply to be read at all.
_LOOKED_AT = 64 * 1024
# The most levels that a body may have: a field of one of its messages has 64 of its own.
_MOST_LEVELS = MAX_DEPTH + 3
_BRACKET_OR_STRING = re.compile(r'[\[\]{}]|("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?')

Number = orjson.Fragment
"""A number as it was written; `dumps` writes it out again."""


class TooDeep(ValueError):
    """JSON with more levels than can be read."""


class NotANumber:
    """NaN or Infinity, which JSON does not have: kept until its field is known."""

    def __init__(self, name: str) -> None:
        self.name = name


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=NotANumber)


def loads(text: bytes | str) -> Any:
    """Read JSON with numbers as `Number`; raises ValueError when it is not JSON."""
    if isinstance(text, bytes):
        text = text.decode()
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise TooDeep("is nested too deeply") from None


def load_body(body: bytes) -> Any:
    """The body of a request; an empty one counts as `{}`."""
    if not body or body.isspace():
        return {}
    found = _load_strings(body)
    if found is not None:
        return found
    try:
        value = loads(body)
    except UnicodeDecodeError:
        raise BadRequest("body", "must be JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        if body.startswith(BOM_UTF8):
            raise BadRequest("body", "must not begin with a byte order mark") from None
        where = f"{error.msg} at line {error.lineno} column {error.colno}"
        raise BadRequest("body", f"must be JSON ({where})") from None
    except TooDeep as error:
        raise BadRequest(_deepest_field(body.decode()), str(error)) from None
    except ValueError as error:
        raise BadRequest("body", str(error)) from None
    if isinstance(value, dict):
        _check_fields(value)
    return value


def _deepest_field(text: str) -> str:
    """The field of the body that is nested too deeply, if it is easy to find."""
    levels, field = 0, "body"
    for found in _BRACKET_OR_STRING.finditer(text, 0, _LOOKED_AT):
        string, colon = found.groups()
        if string is None:
            levels += 1 if found[0] in "[{" else -1
            if levels > _MOST_LEVELS:
                return _shown(field)
        elif colon and levels == 1:
            field = string[1:-1]
    return "body"


def _check_fields(fields: dict[str, Any], within: str = "") -> None:
    """Refuse NaN and deep nesting in every field, including those that no endpoint reads.

    Only the messages of the body itself have fields of their own: levels are counted from these.
    """
    for name, value in fields.items():
        field = within + name
        if isinstance(value, list):
            for index, item in enumerate(value):
                if name == "messages" and not within and isinstance(item, dict):
                    _check_fields(item, f"{field}[{index}].")
                elif isinstance(item, dict | list | NotANumber):
                    _check_form(item, f"{field}[{index}]", depth=1)
        elif name == "newMessage" and not within and isinstance(value, dict):
            _check_fields(value, f"{field}.")
        else:
            _check_form(value, field)


def _check_form(value: Any, field: str, depth: int = 0) -> None:
    if isinstance(value, NotANumber):
        raise BadRequest(_shown(field), f"must contain only JSON numbers, not {value.name}")
    if isinstance(value, dict | list):
        if depth == MAX_DEPTH:
            raise BadRequest(_shown(field), f"must be nested at most {MAX_DEPTH} levels deep")
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, dict | list | NotANumber):
                _check_form(item, field, depth + 1)


def _shown(field: str) -> str:
    """A field name that the caller chose, safe to put into an error."""
    return field[:_LONGEST_NAME].encode(errors="replace").decode()


def _load_strings(body: bytes) -> dict[str, str] | None:
    """Read an object of strings only, as most requests are: it has no numbers to preserve.

    None for everything else, and for what orjson refuses: `loads` reports why.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if type(value) is dict and all(type(item) is str for item in value.values()):
        return value
    return None


def dumps(value: Any) -> str:
    """The JSON text to store, with every number as it was sent."""
    return orjson.dumps(value).decode()


def canonical(text: str) -> bytes:
    """The same bytes for JSON texts that differ only in key order or white space."""
    return orjson.dumps(loads(text), option=orjson.OPT_SORT_KEYS)


def check_texts(value: Any, field: str) -> None:
    """Check every string and key of a JSON value, which comes from a body that was read here."""
    if isinstance(value, str):
        check_text(value, field)
    elif isinstance(value, dict):
        for key, item in value.items():
            check_text(key, field)
            if isinstance(item, str | dict | list):
                check_texts(item, field)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str | dict | list):
                check_texts(item, field)


def check_text(value: str, field: str) -> None:
    """Refuse NUL and lone surrogates, which PostgreSQL and UTF-8 cannot represent."""
    if "\x00" in value:
        raise BadRequest(field, "must not contain a NUL character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadRequest(field, "must not contain a lone surrogate") from None
