"""The rows of a plugin's answer to a search, read as memories without a detour.

A request waits for two hundred of them, and checking each value of each row as the contract does
takes longer than finding them. Here a row is taken as it is when what recall uses of it has the
usual form. An answer with any other row is read with all care.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from contract import SearchResponse, read_answer
from recall.candidate import Candidate
from recall.memory import FORM, MEMORY_TYPES, Memory, from_row, make

# How the rows of the reference plugin's answers begin, where one ends and the next begins, and
# how they end; each has its score last.
_BEGINNING = b'{"memories":[{"id":"'
_BETWEEN = b'},{"id":"'
_END = b"}]}"
_SCORE = b',"score":'

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_ID_LENGTH = 36
_NUMBER = re.compile(rb"(?:0|[1-9][0-9]*)\.[0-9]+")
_SCORES = re.compile(rb"(?:(?:%b%b)?\n)*" % (_SCORE, _NUMBER.pattern))
_KINDS = frozenset({"fact", "summary", "checkpoint"})
_SOURCES = frozenset({"agent", "runtime", "user"})
_TYPES = frozenset(MEMORY_TYPES)


class _Unusual(Exception):
    """Something is not as plugins usually write it."""


_OTHERWISE = (KeyError, TypeError, ValueError, _Unusual)


@dataclass
class Found:
    """What a plugin found, and the score that it gave to each."""

    candidates: Sequence[Candidate] = ()
    scores: Sequence[float] = field(default=(), repr=False)

    @classmethod
    def of(cls, memories: Iterable[Memory]) -> "Found":
        """Memories without a score."""
        candidates = [Candidate(memory) for memory in memories]
        return cls(candidates, [0.0] * len(candidates))

    @property
    def memories(self) -> list[Memory]:
        return [one.memory for one in self.candidates]


@dataclass(slots=True)
class _Row:
    """A row as it was read: `text` is its JSON behind the opening of its id."""

    text: bytes
    namespace: str
    owner: str
    candidate: Candidate
    score: float


class Reader:
    """Reads answers, and each row once however often it comes.

    Most rows of an answer are those of earlier ones, byte for byte but for the score. What counts
    is the answer: nothing is found that the plugin does not send. Rows of at most twice
    `most_bytes` are held, those used last and those before them.
    """

    def __init__(self, most_bytes: int = 4 * 2**20) -> None:
        self._most_bytes = most_bytes
        self._size = 0
        # By their ids.
        self._last: dict[bytes, _Row] = {}
        self._before: dict[bytes, _Row] = {}

    def read(self, body: bytes, owners: Mapping[str, str]) -> Found:
        """The memories of an answer; `owners` has the owner of each namespace.

        Rows of other namespaces are left out. Raises `ContractViolation`.
        """
        for way in (self._by_piece, _as_usual):
            with suppress(*_OTHERWISE):
                return way(body, owners)
        return _with_care(body, owners)

    def _by_piece(self, body: bytes, owners: Mapping[str, str]) -> Found:
        """What separates two rows may stand within one, too. But if every piece is a JSON object,
        the answer is a list of them; if one is not, the answer is read another way."""
        if not (body.startswith(_BEGINNING) and body.endswith(_END)):
            raise _Unusual
        rows: list[_Row] = []
        tails: list[bytes] = []
        known = self._last
        for piece in body[len(_BEGINNING) : -len(_END)].split(_BETWEEN):
            row = known.get(piece[:_ID_LENGTH])
            if (
                row is None
                or not piece.startswith(row.text)
                or row.owner != owners.get(row.namespace)
            ):
                row = self._row(piece, owners)
                known = self._last
            rows.append(row)
            tails.append(piece[len(row.text) :])
        if not _SCORES.fullmatch(b"\n".join(tails) + b"\n"):
            # A row begins like a known one and goes on: the next time it is read anew.
            self._last, self._size = {}, 0
            raise _Unusual
        scores = [
            float(tail[len(_SCORE) :]) if tail else row.score
            for row, tail in zip(rows, tails, strict=True)
        ]
        return Found([row.candidate for row in rows], scores)

    def _row(self, piece: bytes, owners: Mapping[str, str]) -> _Row:
        text, _, number = piece.rpartition(_SCORE)
        if not _NUMBER.fullmatch(number):
            text = piece
        id_ = text[:_ID_LENGTH]
        row = self._before.get(id_)
        if row is None or row.text != text or row.owner != owners.get(row.namespace):
            if rb"\u0000" in text:
                raise _Unusual
            fields = orjson.loads(b'{"id":"%b}' % text)
            namespace = fields["namespace"]
            memory, score = _read(fields, owners)
            row = _Row(text, namespace, owners[namespace], Candidate(memory), score)
        self._last[id_] = row
        self._size += len(text)
        if self._size > self._most_bytes:
            self._before, self._last, self._size = self._last, {}, 0
        return row


def _as_usual(body: bytes, owners: Mapping[str, str]) -> Found:
    if rb"\u0000" in body:
        raise _Unusual
    rows = orjson.loads(body)["memories"]
    read = [_read(row, owners) for row in rows if row["namespace"] in owners]
    return Found([Candidate(memory) for memory, _ in read], [score for _, score in read])


def _with_care(body: bytes, owners: Mapping[str, str]) -> Found:
    rows = [row for row in read_answer(SearchResponse, body).memories if row.namespace in owners]
    return Found(
        [Candidate(from_row(row, owners[row.namespace])) for row in rows],
        [row.score or 0.0 for row in rows],
    )


def _read(row: dict[str, Any], owners: Mapping[str, str]) -> tuple[Memory, float]:
    if not _ID.fullmatch(row["id"]):
        raise _Unusual
    return _memory(row, owners[row["namespace"]]), _score(row)


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
