"""A JSON body that knows where its values are in the text.

Apart from the memory block, a request must not change: not its order, the spelling of its numbers,
its escapes or its duplicate keys. So the block is inserted into the client's own text.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from recall.injection import STAND_IN, Edit, Step

_SPACE = re.compile(r"[ \t\n\r]*")
Span = tuple[int, int]


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _inside_string(text: str) -> str:
    """A text as it appears inside a JSON string."""
    return json.dumps(text)[1:-1]


_STAND_IN = _inside_string(STAND_IN)


class NotADocument(ValueError):
    """The body is not a single JSON object in UTF-8."""


@dataclass(frozen=True)
class Opened:
    """A body split where the block goes."""

    before: str = field(repr=False)
    behind: str = field(repr=False)

    def with_block(self, block: str) -> bytes:
        return (self.before + _inside_string(block) + self.behind).encode()


class Document:
    """A JSON object as text; `value` is the parsed object."""

    def __init__(self, body: bytes) -> None:
        try:
            self.text = body.decode()
            self._lists: dict[int, list[Span]] = {}
            self._spans, end = _members(self.text, _skip(self.text, 0))
            self.value: dict[str, Any] = {name: value for name, (value, _) in self._spans.items()}
        except (ValueError, RecursionError, IndexError) as error:
            raise NotADocument(type(error).__name__) from None
        if _skip(self.text, end) != len(self.text):
            raise NotADocument("something follows the object")

    def source(self, name: str, last: int | None = None) -> str:
        """The text of a top-level value; with `last`, that of a list up to this item."""
        start, end = self._spans[name][1]
        if last is None:
            return self.text[start:end]
        return self.text[start : self._find((name, last))[1]] if last >= 0 else ""

    def opened(self, edit: Edit) -> "Opened":
        """The body with one edit whose block is `STAND_IN`; every other byte is unchanged."""
        (start, end), piece = self._piece(edit)
        before, behind = piece.split(_STAND_IN)
        return Opened(self.text[:start] + before, behind + self.text[end:])

    def _piece(self, edit: Edit) -> tuple[Span, str]:
        """The part of the text to replace, and its replacement."""
        if edit.action == "set":
            return self._field(str(edit.path[0]), edit.value)
        start, end = self._find(edit.path)
        text = self.text
        match edit.action:
            case "before":
                place, piece = start + 1, _inside_string(edit.value)
            case "behind":
                place, piece = end - 1, _inside_string(edit.value)
            case "first":
                place, piece = start + 1, json.dumps(edit.value)
                if text[_skip(text, place)] != "]":
                    piece += ","
            case "last":
                place, piece = end - 1, json.dumps(edit.value)
                if text[_skip(text, start + 1)] != "]":
                    piece = "," + piece
        return (place, place), piece

    def _field(self, name: str, value: Any) -> tuple[Span, str]:
        if name in self._spans:
            return self._spans[name][1], json.dumps(value)
        place = _skip(self.text, 0) + 1
        comma = "," if self._spans else ""
        return (place, place), f"{json.dumps(name)}:{json.dumps(value)}{comma}"

    def _find(self, path: tuple[Step, ...]) -> Span:
        span = self._spans[str(path[0])][1]
        for step in path[1:]:
            if isinstance(step, int):
                span = self._items(span[0])[step]
            else:
                span = _members(self.text, span[0])[0][step][1]
        return span

    def _items(self, start: int) -> list[Span]:
        """The positions of the items of the list that starts here, cached."""
        if start not in self._lists:
            self._lists[start] = _items(self.text, start)
        return self._lists[start]


def _skip(text: str, place: int) -> int:
    return _SPACE.match(text, place).end()  # type: ignore[union-attr]


def _members(text: str, place: int) -> tuple[dict[str, tuple[Any, Span]], int]:
    """The members of the object that starts here with the positions of their values; its end.

    Of duplicate keys the last one wins, as in most parsers.
    """
    if text[place] != "{":
        raise ValueError("not an object")
    found: dict[str, tuple[Any, Span]] = {}
    place = _skip(text, place + 1)
    if text[place] == "}":
        return found, place + 1
    while True:
        if text[place] != '"':
            raise ValueError("not a key")
        name, place = _DECODER.raw_decode(text, place)
        place = _skip(text, place)
        if text[place] != ":":
            raise ValueError("no value")
        start = _skip(text, place + 1)
        value, end = _DECODER.raw_decode(text, start)
        found[name] = (value, (start, end))
        place = _skip(text, end)
        if text[place] == "}":
            return found, place + 1
        if text[place] != ",":
            raise ValueError("not a comma")
        place = _skip(text, place + 1)


def _items(text: str, place: int) -> list[Span]:
    """The positions of the items of the list that starts here."""
    found: list[Span] = []
    place = _skip(text, place + 1)
    while text[place] != "]":
        _, end = _DECODER.raw_decode(text, place)
        found.append((place, end))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return found
