"""The rows of a plugin's answer to a search, read as memories without a detour.

A request waits for two hundred of them, and checking each value of each row as the contract does
takes longer than finding them. Here a row is taken as it is when what recall uses of it has the
usual form. An answer with any other row is read with all care.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from contract import SearchResponse, read_answer
from recall.memory import Memory, from_row, make

Found = list[tuple[Memory, float]]

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_KINDS = frozenset({"fact", "summary", "checkpoint"})
_SOURCES = frozenset({"agent", "runtime", "user"})


class _Unusual(Exception):
    """Something in a row is not as plugins usually write it."""


def read_found(body: bytes, owners: Mapping[str, str]) -> Found:
    """The memories of an answer, each with its score; `owners` has the owner of each namespace.

    Rows of other namespaces are left out. Raises `ContractViolation`.
    """
    try:
        rows = orjson.loads(body)["memories"]
        return [_found(row, owners[row["namespace"]]) for row in rows if row["namespace"] in owners]
    except (KeyError, TypeError, ValueError, _Unusual):
        checked = read_answer(SearchResponse, body).memories
    return [
        (from_row(row, owners[row.namespace]), row.score or 0.0)
        for row in checked
        if row.namespace in owners
    ]


def _found(row: dict[str, Any], owner: str) -> tuple[Memory, float]:
    id_, content, score = row["id"], row["content"], row.get("score")
    kind, source, note = row["kind"], row["source"], row.get("propagation")
    if (
        _ID.fullmatch(id_) is None
        or type(content) is not str
        or "\x00" in content
        or kind not in _KINDS
        or source not in _SOURCES
        or (note is not None and type(note) is not dict)
        or (score is not None and type(score) is not float)
    ):
        raise _Unusual
    expires_at = row.get("expires_at")
    memory = make(
        id_,
        owner,
        content,
        kind,
        source,
        _time(row["created_at"]),
        None if expires_at is None else _time(expires_at),
        note,
    )
    return memory, score or 0.0


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not UTC:
        raise _Unusual
    return moment
