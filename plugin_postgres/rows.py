"""Rows of the database as the JSON objects of the contract."""

from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from plugin_postgres import jsonb


def memory(
    key: UUID | str,
    home: str,
    content: str,
    kind: str,
    source: str,
    created_at: datetime | str,
    expires_at: datetime | None,
    propagation: str | None,
    pin: bool,
    score: float | None = None,
) -> dict[str, Any]:
    """A Memory; fields that are not set are left out.

    The statements select these columns in this order, and a score if they rank: passing a row as
    arguments costs half as much as unpacking it into a list. The id and the time of creation may be
    strings that are ready to be sent.
    """
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
    if propagation is not None and (restored := jsonb.restore(propagation)) is not None:
        found["propagation"] = restored
    if score is not None:
        found["score"] = score
    return found


def namespace(row: asyncpg.Record) -> dict[str, Any]:
    """A Namespace; fields that are not set are left out."""
    found = {"name": row["name"], "kind": row["kind"], "created_at": row["created_at"]}
    if row["expires_at"] is not None:
        found["expires_at"] = row["expires_at"]
    if (metadata := jsonb.restore(row["metadata"])) is not None:
        found["metadata"] = metadata
    return found
