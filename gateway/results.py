"""Memories as the API returns them."""

from collections.abc import Mapping
from typing import Any

import orjson

from gateway.names import resource_uri


def to_json(body: Mapping[str, Any]) -> bytes:
    """A response body; times are written in UTC, with `Z`."""
    return orjson.dumps(body, option=orjson.OPT_UTC_Z)


def result(
    row: Any, text: str, *, score: float | None = None, scope: str | None = None
) -> dict[str, Any]:
    """A Result: always all seven fields. The row is what the gateway knows about the memory."""
    return {
        "id": str(row["id"]),
        "session_id": row["name"],
        "text": text,
        "score": score,
        "source_scope": scope,
        "resource_uri": resource_uri(row["name"]),
        "raw": raw(row),
    }


def raw(row: Any) -> dict[str, Any]:
    """Everything else about a memory; never a key or a namespace."""
    shown = {"type": row["type"], "created_at": row["created_at"]}
    if row["edited_at"] is not None:
        shown["edited_at"] = row["edited_at"]
    if row["extra"] is not None:
        shown.update(orjson.loads(row["extra"]))
    return shown
