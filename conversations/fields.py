"""Reading requests: every value has the right type and size, or is refused by name.

`Fields` reads a JSON object, `Parameters` a query string. Absent and `null` are the same, except
for `has`.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from contract import parse_time
from conversations import exact
from conversations.errors import BadRequest
from conversations.ids import find_uuid

MAX_TITLE = 500
MAX_USER_ID = 255
MAX_METADATA = 16 * 1024
MAX_CONTENT = 4 * 1024 * 1024
MAX_PARTS = 1000
# The most bytes that a character takes in JSON, such as \u001f. Nothing else needs to be measured.
_LONGEST_ESCAPE = 6

_NOT_IN_USERS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_WHOLE = re.compile(r"-?\d{1,18}(?:\.0+)?", re.ASCII)


class Fields:
    """The fields of a JSON object; `within` is its path, such as `messages[2]`."""

    def __init__(self, value: Any, within: str = "") -> None:
        if not isinstance(value, dict):
            raise BadRequest(within or "body", "must be a JSON object")
        self._value = value
        self._within = f"{within}." if within else ""

    def name(self, field: str) -> str:
        return self._within + field

    def has(self, field: str) -> bool:
        return field in self._value

    def raw(self, field: str) -> Any:
        return self._value.get(field)

    def refuse(self, field: str, reason: str) -> BadRequest:
        return BadRequest(self.name(field), reason)

    def text(self, field: str, at_most: int) -> str | None:
        """A string of at most that many characters."""
        value = self._value.get(field)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.refuse(field, "must be a string")
        exact.check_text(value, self.name(field))
        if len(value) > at_most:
            raise self.refuse(field, f"must be at most {at_most} characters")
        return value

    def title(self, field: str = "title") -> str | None:
        """A title; a blank one counts as none."""
        title = self.text(field, MAX_TITLE)
        return None if title is None or not title.strip() else title

    def flag(self, field: str) -> bool:
        value = self._value.get(field)
        if value is not None and not isinstance(value, bool):
            raise self.refuse(field, "must be true or false")
        return bool(value)

    def whole(self, field: str, at_least: int, at_most: int) -> int | None:
        """An integer within its limits."""
        value = self._value.get(field)
        if value is None:
            return None
        digits = exact.dumps(value) if isinstance(value, exact.Number) else ""
        if not _WHOLE.fullmatch(digits):
            raise self.refuse(field, "must be an integer")
        number = int(digits.partition(".")[0])
        if not at_least <= number <= at_most:
            raise self.refuse(field, f"must be from {at_least} to {at_most}")
        return number

    def uuid(self, field: str) -> UUID | None:
        value = self._value.get(field)
        return None if value is None else read_uuid(value, self.name(field))

    def uuids(self, field: str, at_most: int) -> list[UUID]:
        values = self.items(field, at_most)
        return [read_uuid(value, f"{self.name(field)}[{i}]") for i, value in enumerate(values)]

    def items(self, field: str, at_most: int) -> list[Any]:
        value = self._value.get(field)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.refuse(field, "must be a list")
        if len(value) > at_most:
            raise self.refuse(field, f"must have at most {at_most} items")
        return value

    def objects(self, field: str, at_most: int) -> Iterator["Fields"]:
        """The objects of a list, each with its path."""
        for index, item in enumerate(self.items(field, at_most)):
            yield Fields(item, f"{self.name(field)}[{index}]")

    def choice(self, field: str, choices: tuple[str, ...], *, any_case: bool = False) -> str | None:
        value = self._value.get(field)
        if value is None:
            return None
        return choose(value, choices, self.name(field), any_case=any_case)

    def time(self, field: str) -> datetime | None:
        value = self._value.get(field)
        if value is None:
            return None
        try:
            return parse_time(value)
        except ValueError as error:
            raise self.refuse(field, str(error)) from None

    def user(self, field: str) -> str | None:
        value = self.text(field, MAX_USER_ID)
        return None if value is None else read_user(value, self.name(field))

    def metadata(self) -> dict[str, Any] | None:
        """A JSON object of at most 16 KiB; `{}` is not the same as absent."""
        value = self._value.get("metadata")
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.refuse("metadata", "must be a JSON object")
        exact.check_texts(value, self.name("metadata"))
        if value and len(exact.dumps(value).encode()) > MAX_METADATA:
            raise self.refuse("metadata", f"must be at most {MAX_METADATA} bytes of JSON")
        return value

    def content(self, *, lists: bool) -> "str | list[Any]":
        """The content of a message: a string that is not blank, or a list of objects."""
        field = self.name("content")
        value = self._value.get("content")
        if value is None:
            raise BadRequest(field, "is required")
        if isinstance(value, str):
            exact.check_text(value, field)
            if not value.strip():
                raise BadRequest(field, "must not be blank")
            size = len(value) * _LONGEST_ESCAPE
            if size > MAX_CONTENT:
                size = len(exact.dumps(value).encode())
        elif lists and isinstance(value, list):
            check_parts(value, field)
            size = len(exact.dumps(value).encode())
        else:
            kinds = "a string or a list of objects" if lists else "a string"
            raise BadRequest(field, f"must be {kinds}")
        if size > MAX_CONTENT:
            raise BadRequest(field, f"must be at most {MAX_CONTENT} bytes of JSON")
        return value


def check_parts(value: list[Any], field: str) -> None:
    """The parts of a list are opaque, except that a text part must have a text."""
    if not 1 <= len(value) <= MAX_PARTS:
        raise BadRequest(field, f"must have from 1 to {MAX_PARTS} parts")
    for index, part in enumerate(value):
        place = f"{field}[{index}]"
        if not isinstance(part, dict):
            raise BadRequest(place, "must be a JSON object")
        exact.check_texts(part, place)
        if part.get("type") == "text" and not isinstance(part.get("text"), str):
            raise BadRequest(f"{place}.text", "must be a string")
    if all(part.get("type") == "text" and not part["text"].strip() for part in value):
        raise BadRequest(field, "must not be blank")


class Parameters:
    """The query string; an empty parameter counts as absent."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self._query = query

    def text(self, name: str, at_most: int = 2000) -> str | None:
        value = self._query.get(name) or None
        if value is not None:
            exact.check_text(value, name)
            if "�" in value or len(value) > at_most:
                raise BadRequest(name, f"must be at most {at_most} characters of UTF-8")
        return value

    def whole(self, name: str, at_least: int, at_most: int, default: int) -> int:
        value = self.text(name)
        if value is None:
            return default
        if not (value.isascii() and value.isdigit() and len(value) <= 18):
            raise BadRequest(name, "must be an integer")
        if not at_least <= int(value) <= at_most:
            raise BadRequest(name, f"must be from {at_least} to {at_most}")
        return int(value)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.text(name)
        return default if value is None else choose(value, ("true", "false"), name) == "true"

    def uuid(self, name: str) -> UUID | None:
        value = self.text(name)
        return None if value is None else read_uuid(value, name)

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        value = self.text(name)
        return default if value is None else choose(value, choices, name)


def choose(value: Any, choices: tuple[str, ...], field: str, *, any_case: bool = False) -> str:
    if isinstance(value, str):
        # Only ASCII: the dotless i, for example, also has the capital I.
        given = value.upper() if any_case and value.isascii() else value
        if given in choices:
            return given
    raise BadRequest(field, f"must be {', '.join(choices[:-1])} or {choices[-1]}")


def read_uuid(value: Any, field: str) -> UUID:
    found = find_uuid(value)
    if found is None:
        raise BadRequest(field, "must be a UUID, such as 018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11")
    return found


def is_user(value: str) -> bool:
    """Whether this can be a user id: 1 to 255 characters, not blank, no control characters."""
    if not 1 <= len(value) <= MAX_USER_ID or not value.strip():
        return False
    return value.isprintable() or _NOT_IN_USERS.search(value) is None


def read_user(value: str, field: str) -> str:
    if not is_user(value):
        raise BadRequest(
            field,
            f"must be from 1 to {MAX_USER_ID} characters, not blank, without control characters",
        )
    return value
