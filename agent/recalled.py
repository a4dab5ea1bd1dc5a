"""Turns the results of a search into one message that the model can only read as data."""

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from agent.config import GatewayConfig
from agent.texts import RECALL_LABEL, Message

_MOST_CHARACTERS = 4000
_FIELDS = ("id", "session_id", "text", "source_scope", "resource_uri")
# JSON itself escapes the line breaks below U+0020. Lone surrogates cannot be sent as UTF-8.
_TO_ESCAPE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def usable(results: Iterable[Any], config: GatewayConfig) -> list[dict[str, Any]]:
    """At most `top_k` results that have a text, reduced to what the model may see."""
    reduced = (_reduced(result, config.user_key) for result in results)
    return [result for result in reduced if result][: config.top_k]


def recall_message(results: Iterable[dict[str, Any]]) -> Message:
    """The label, then one line of JSON per result: no text can start a new line."""
    lines = [_line(result) for result in results]
    return {"role": "user", "content": "\n".join([RECALL_LABEL, *lines])}


def _reduced(result: Any, user_key: str) -> dict[str, Any] | None:
    if not isinstance(result, dict):
        return None
    kept: dict[str, Any] = {}
    for name in _FIELDS:
        value = result.get(name)
        if isinstance(value, str):
            # Redact before truncating: half a key must not stay at the end.
            kept[name] = value.replace(user_key, "[redacted]")[:_MOST_CHARACTERS]
    if not kept.get("text", "").strip():
        return None
    score = result.get("score")
    if isinstance(score, int | float) and not isinstance(score, bool) and _is_finite(score):
        kept["score"] = score
    return kept


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _line(result: dict[str, Any]) -> str:
    text = json.dumps(result, ensure_ascii=False)
    return _TO_ESCAPE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
