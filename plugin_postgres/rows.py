"""Rows of the database as the JSON objects of the contract."""

from collections.abc import Mapping
from typing import Any

import asyncpg
import orjson

from plugin_postgres import jsonb


def memory(row: asyncpg.Record) -> dict[str, Any]:
    """A Memory without a score; fields that are not set are left out."""
    found: dict[str, Any] = {
        "id": str(row["id"]),
        "namespace": row["namespace"],
        "content": row["content"],
        "kind": row["kind"],
        "source": row["source"],
        "created_at": row["created_at"],
        "pin": row["pin"],
    }
    if row["expires_at"] is not None:
        found["expires_at"] = row["expires_at"]
    if (propagation := jsonb.restore(row["propagation"])) is not None:
        found["propagation"] = propagation
    return found


def namespace(row: asyncpg.Record) -> dict[str, Any]:
    """A Namespace; fields that are not set are left out."""
    found = {"name": row["name"], "kind": row["kind"], "created_at": row["created_at"]}
    if row["expires_at"] is not None:
        found["expires_at"] = row["expires_at"]
    if (metadata := jsonb.restore(row["metadata"])) is not None:
        found["metadata"] = metadata
    return found


def encode(answer: Mapping[str, Any]) -> bytes:
    """The body of an answer; times are in UTC with `Z`."""
    return orjson.dumps(answer, option=orjson.OPT_UTC_Z)
