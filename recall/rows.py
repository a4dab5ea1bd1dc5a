"""The rows of a plugin's answer to a search, read as memories without a detour.

A request waits for two hundred of them, and checking each value of each row as the contract does
takes longer than finding them. Here a row is taken as it is when what recall uses of it has the
usual form. An answer with any other row is read with all care.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import orjson

from contract import SearchResponse, read_answer
from recall.memory import FORM, MEMORY_TYPES, Memory, from_row, make
from recall.relevance import Texts

_IDS = re.compile(r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\n)*", re.ASCII)
_KINDS = frozenset({"fact", "summary", "checkpoint"})
_SOURCES = frozenset({"agent", "runtime", "user"})
_TYPES = frozenset(MEMORY_TYPES)


class _Unusual(Exception):
    """Something in a row is not as plugins usually write it."""


@dataclass
class Found:
    """Memories that a plugin found, and the score that it gave to each."""

    memories: Sequence[Memory] = ()
    scores: Sequence[float] = field(default=(), repr=False)

    @cached_property
    def texts(self) -> Texts:
        """Their texts, ready to be searched for words."""
        return Texts(self.memories)


class Reader:
    """Reads answers, and knows the last ones.

    Whoever asks for the newest memories of an owner mostly gets the very bytes of the time before,
    and need not read them again. What counts is the answer, so nothing is kept that is deleted.
    """

    def __init__(self, most_bytes: int = 4 * 2**20) -> None:
        self._most_bytes = most_bytes
        self._size = 0
        self._read: OrderedDict[bytes, tuple[dict[str, str], Found]] = OrderedDict()

    def read_again(self, body: bytes, owners: dict[str, str]) -> Found:
        """As `read_found`, for an answer that may come again."""
        known = self._read.get(body)
        if known is not None and known[0] == owners:
            self._read.move_to_end(body)
            return known[1]
        found = read_found(body, owners)
        if known is None:
            self._size += len(body)
        self._read[body] = (owners, found)
        while self._size > self._most_bytes:
            forgotten, _ = self._read.popitem(last=False)
            self._size -= len(forgotten)
        return found


def read_found(body: bytes, owners: Mapping[str, str]) -> Found:
    """The memories of an answer; `owners` has the owner of each namespace.

    Rows of other namespaces are left out. Raises `ContractViolation`.
    """
    try:
        rows = [row for row in orjson.loads(body)["memories"] if row["namespace"] in owners]
        if rb"\u0000" in body or not _IDS.fullmatch("".join([row["id"] + "\n" for row in rows])):
            raise _Unusual
        return Found(
            [_memory(row, owners[row["namespace"]]) for row in rows], [_score(row) for row in rows]
        )
    except (KeyError, TypeError, ValueError, _Unusual):
        checked = read_answer(SearchResponse, body).memories
    known = [row for row in checked if row.namespace in owners]
    return Found(
        [from_row(row, owners[row.namespace]) for row in known], [row.score or 0.0 for row in known]
    )


def _memory(row: dict[str, Any], owner: str) -> Memory:
    content, kind, source = row["content"], row["kind"], row["source"]
    note, expires_at = row.get("propagation"), row.get("expires_at")
    if type(content) is not str or kind not in _KINDS or source not in _SOURCES:
        raise _Unusual
    if expires_at is not None:
        expires_at = _time(expires_at)
    if type(note) is not dict or note.get("v") != FORM:
        if note is not None and type(note) is not dict:
            raise _Unusual
        created_at = _time(row["created_at"])
        return make(row["id"], owner, content, kind, source, created_at, expires_at, note)
    key, session_id, metadata = note["key"], note["sessionId"], note["metadata"]
    created, updated, model = note["createdAt"], note["updatedAt"], note["embeddedWith"]
    if (
        type(key) is not str
        or type(session_id) is not str
        or type(metadata) is not dict
        or (model is not None and type(model) is not str)
        or note["type"] not in _TYPES
    ):
        raise _Unusual
    created_at = _time(created)
    return Memory(
        id=row["id"],
        api_key_id=owner,
        key=key,
        content=content,
        type=note["type"],
        session_id=session_id,
        metadata=metadata,
        created_at=created_at,
        updated_at=created_at if updated == created else _time(updated),
        expires_at=expires_at,
        kind=kind,
        source=source,
        embedded_with=model,
    )


def _score(row: dict[str, Any]) -> float:
    score = row.get("score")
    if score is None:
        return 0.0
    if type(score) is not float:
        raise _Unusual
    return score


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not UTC:
        raise _Unusual
    return moment
