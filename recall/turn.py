"""A user's turn: the last user message of a request, and everything before it.

All requests of a turn (there are several when a model calls tools) get the same memory block, and
its message is learned from only once.
"""

import re
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from recall.document import Document
from recall.injection import CLOSING, INTRODUCTION, OPENING, Format

_BLOCK = re.compile(
    rf"{re.escape(OPENING)}.*?(?:{re.escape(CLOSING)}|\Z)", re.DOTALL | re.IGNORECASE
)
# What JSON can say and neither PostgreSQL nor UTF-8 can hold.
_NUL = "\x00"
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class Turn:
    """The last user message (`text`), and a digest of owner, session and conversation."""

    text: str = field(repr=False)
    digest: bytes = field(repr=False)


def read_turn(document: Document, format: Format, owner: str, session_id: str) -> Turn:
    """The turn that a request belongs to; its text is "" if it has no user message."""
    name = "input" if format == "responses" else "messages"
    items = document.value[name]
    if isinstance(items, str):
        text, said = items, document.source(name)
    else:
        index, text = _last_said(items)
        said = document.source(name, index)
    parts = (owner, session_id, format, said)
    digest = blake2b(digest_size=32)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8))
        digest.update(encoded)
    return Turn(storable(without_block(text)), digest.digest())


def storable(text: str) -> str:
    """The text without NUL characters and lone surrogates, which no memory can hold."""
    if text.isascii():
        return text.replace(_NUL, " ")
    return _LONE_SURROGATE.sub("\ufffd", text).replace(_NUL, " ")


def without_block(text: str) -> str:
    """The text without memory blocks, which the user did not write."""
    if OPENING not in text.lower() and INTRODUCTION not in text:
        return text
    return _BLOCK.sub(" ", text).replace(INTRODUCTION, " ")


def _last_said(items: list[Any]) -> tuple[int, str]:
    """Index and text of the last user message that has text, not only tool results."""
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if isinstance(item, dict) and item.get("role") == "user":
            text = _text(item.get("content"))
            if text:
                return index, text
    return -1, ""


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part for part in content if isinstance(part, dict))
    texts = (it.get("text") for it in parts if it.get("type") in ("text", "input_text"))
    return "\n".join(text for text in texts if isinstance(text, str))
