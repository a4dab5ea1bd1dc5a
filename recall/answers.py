"""Reads what the assistant said from a response that was already sent.

Text only: no tool calls, no tool results, no reasoning.
"""

import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from recall.injection import Format

MAX_ANSWER = 32 * 1024 * 1024
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


def answer_text(
    body: bytes,
    format: Format,
    *,
    content_type: str,
    encoding: str,
) -> str | None:
    """The assistant's text; None if the response cannot be read or its stream was cut off."""
    decoded = _decode(body, encoding)
    if decoded is None:
        return None
    if content_type.partition(";")[0].strip().lower() == "text/event-stream":
        return _STREAMS[format](_events(decoded))
    value = _load(decoded)
    return _WHOLES[format](value) if isinstance(value, dict) else None


def _decode(body: bytes, encoding: str) -> bytes | None:
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip" | "x-gzip":
            window = _GZIP_OR_ZLIB
        case "deflate":
            # Some servers send raw deflate, most send it with a zlib header.
            window = _GZIP_OR_ZLIB if body[:1] == b"\x78" else -zlib.MAX_WBITS
        case _:
            return None
    try:
        return zlib.decompressobj(window).decompress(body, MAX_ANSWER)
    except zlib.error:
        return None


def _events(body: bytes) -> Iterator[Any]:
    """The JSON of each event's data, and the text `[DONE]`."""
    data: list[bytes] = []
    for line in [*body.splitlines(), b""]:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            joined = b"\n".join(data)
            data = []
            yield "[DONE]" if joined.strip() == b"[DONE]" else _load(joined)


def _load(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        # A lone surrogate is no reason to lose the rest of what was said.
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        return None


def _chat_stream(events: Iterator[Any]) -> str | None:
    parts: list[str] = []
    is_complete = False
    for event in events:
        if event == "[DONE]":
            return "".join(parts)
        if not isinstance(event, dict):
            continue
        if event.get("error") is not None:
            return None
        choice = _first_choice(event)
        delta = choice.get("delta")
        if isinstance(delta, dict):
            parts.extend(_texts(delta.get("content"), "text"))
        is_complete = is_complete or choice.get("finish_reason") is not None
    return "".join(parts) if is_complete else None


def _chat_whole(value: dict[str, Any]) -> str | None:
    message = _first_choice(value).get("message")
    return "".join(_texts(message.get("content"), "text")) if isinstance(message, dict) else None


def _first_choice(value: dict[str, Any]) -> dict[str, Any]:
    choices = value.get("choices")
    if isinstance(choices, list):
        for choice in choices:
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                return choice
    return {}


def _messages_stream(events: Iterator[Any]) -> str | None:
    blocks: dict[str, list[str]] = {}
    for event in events:
        if not isinstance(event, dict):
            continue
        match event.get("type"):
            case "content_block_delta":
                delta = event.get("delta")
                if isinstance(delta, dict) and delta.get("type") == "text_delta":
                    place = str(event.get("index"))
                    blocks.setdefault(place, []).extend(_texts(delta.get("text"), ""))
            case "message_stop":
                return "\n".join("".join(parts) for parts in blocks.values())
            case "error":
                return None
    return None


def _messages_whole(value: dict[str, Any]) -> str | None:
    content = value.get("content")
    return "\n".join(_texts(content, "text")) if isinstance(content, list) else None


def _responses_stream(events: Iterator[Any]) -> str | None:
    parts: dict[str, list[str]] = {}
    for event in events:
        if not isinstance(event, dict):
            continue
        match event.get("type"):
            case "response.output_text.delta":
                place = f"{event.get('output_index')}/{event.get('content_index')}"
                parts.setdefault(place, []).extend(_texts(event.get("delta"), ""))
            case "response.completed" | "response.incomplete":
                return "\n".join("".join(part) for part in parts.values())
            case "response.failed" | "error":
                return None
    return None


def _responses_whole(value: dict[str, Any]) -> str | None:
    output = value.get("output")
    if not isinstance(output, list):
        return None
    messages = (it for it in output if isinstance(it, dict) and it.get("type") == "message")
    return "\n".join(text for it in messages for text in _texts(it.get("content"), "output_text"))


def _texts(content: Any, kind: str) -> Iterator[str]:
    """The text itself, or the texts of all parts of this type."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and part.get("type") == kind:
                text = part.get("text")
                if isinstance(text, str):
                    yield text


_STREAMS: dict[Format, Callable[[Iterator[Any]], str | None]] = {
    "chat": _chat_stream,
    "messages": _messages_stream,
    "responses": _responses_stream,
}
_WHOLES: dict[Format, Callable[[dict[str, Any]], str | None]] = {
    "chat": _chat_whole,
    "messages": _messages_whole,
    "responses": _responses_whole,
}
