"""Rows of the database as the JSON objects of the contract."""

from collections.abc import Iterable
from typing import Any

import asyncpg

from plugin_postgres import jsonb


def memory(row: Iterable[Any]) -> dict[str, Any]:
    """A Memory; fields that are not set are left out.

    The statements select these columns in this order, ranking ones also the score: unpacking a row
    costs half as much as nine lookups by name.
    """
    key, home, content, kind, source, created_at, expires_at, propagation, pin, *score = row
    found: dict[str, Any] = {
        "id": str(key),
        "namespace": home,
        "content": content,
        "kind": kind,
        "source": source,
        "created_at": created_at,
        "pin": pin,
    }
    if expires_at is not None:
        found["expires_at"] = expires_at
    if (restored := jsonb.restore(propagation)) is not None:
        found["propagation"] = restored
    if score:
        found["score"] = score[0]
    return found


def namespace(row: asyncpg.Record) -> dict[str, Any]:
    """A Namespace; fields that are not set are left out."""
    found = {"name": row["name"], "kind": row["kind"], "created_at": row["created_at"]}
    if row["expires_at"] is not None:
        found["expires_at"] = row["expires_at"]
    if (metadata := jsonb.restore(row["metadata"])) is not None:
        found["metadata"] = metadata
    return found
