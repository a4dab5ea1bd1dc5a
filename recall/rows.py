"""Fast parsing of search responses into memories.

A request waits for two hundred rows, and validating every value as the contract does takes longer
than finding them. Here only the fields that recall uses are checked; a response with any unusual
row is validated in full.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from contract import ContractViolation, SearchResponse, read_answer
from recall.candidate import Candidate
from recall.memory import FORM, MEMORY_TYPES, Memory, from_row, make

# How the list of rows starts in responses of the reference plugin, what separates two rows, and how
# the list ends. The score is the last field of a row.
_BEGINNING = b'{"memories":[{"id":"'
_BETWEEN = b'},{"id":"'
_END = b"}]}"
_SCORE = b',"score":'

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_IN_NUMBERS = b"0123456789."
# orjson makes a float of an integer that needs more than 64 bits, which has at least 19 digits.
_LONG_NUMBER = b"0" * 19
_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_KINDS = frozenset({"fact", "summary", "checkpoint"})
_SOURCES = frozenset({"agent", "runtime", "user"})
_TYPES = frozenset(MEMORY_TYPES)


class _Unusual(Exception):
    """A row does not have the usual form."""


_OTHERWISE = (KeyError, TypeError, ValueError, _Unusual)


@dataclass
class Found:
    """Search results with their scores."""

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


class Reader:
    """Parses responses, with a cache of rows.

    Most rows of a response also came in earlier ones, identical except for the score. Only rows
    that the plugin sends are returned. The cache has two generations of at most `most_bytes` each.
    """

    def __init__(self, most_bytes: int = 4 * 2**20) -> None:
        self._most_bytes = most_bytes
        self._size = 0
        # Keyed by their JSON, without the start of the id and without the score.
        self._last: dict[bytes, Candidate] = {}
        self._before: dict[bytes, Candidate] = {}

    def read(self, body: bytes, owners: Mapping[str, str]) -> Found:
        """The memories of a response; `owners` maps namespaces to owners.

        Rows of other namespaces are ignored. Raises `ContractViolation`.
        """
        for way in (self._by_piece, _as_usual):
            with suppress(*_OTHERWISE):
                return way(body, owners)
        return _with_care(body, owners)

    def _by_piece(self, body: bytes, owners: Mapping[str, str]) -> Found:
        """Split at the separator. It could also occur inside a row, but then some piece is not a
        JSON object, and the response is parsed another way."""
        if not (body.startswith(_BEGINNING) and body.endswith(_END)):
            raise _Unusual
        pieces = body[len(_BEGINNING) : -len(_END)].split(_BETWEEN)
        scores = [0.0] * len(pieces)
        if _SCORE in body:
            parts = [piece.rpartition(_SCORE) for piece in pieces]
            pieces = [text for text, _, _ in parts]
            numbers = [number for _, _, number in parts]
            if b"".join(numbers).translate(None, _IN_NUMBERS):
                raise _Unusual
            scores = list(map(float, numbers))
        known = self._last.get
        candidates = [known(text) or self._candidate(text, owners) for text in pieces]
        if not {one.owner for one in candidates}.issubset(owners.values()):
            raise _Unusual
        return Found(candidates, scores)

    def _candidate(self, text: bytes, owners: Mapping[str, str]) -> Candidate:
        """Look in the older generation, or else parse the row."""
        one = self._before.get(text) or _candidate(text, owners)
        self._last[text] = one
        self._size += len(text)
        if self._size > self._most_bytes:
            self._before, self._last, self._size = self._last, {}, 0
        return one


def _candidate(text: bytes, owners: Mapping[str, str]) -> Candidate:
    if rb"\u0000" in text:
        raise _Unusual
    if _has_long_number(text):
        return _one_with_care(text, owners)
    row = orjson.loads(b'{"id":"%b}' % text)
    if "score" in row:
        raise _Unusual
    memory, _ = _read(row, owners)
    return Candidate(memory)


def _has_long_number(text: bytes) -> bool:
    # A pattern takes ten times as long, half of the time of a row.
    return _LONG_NUMBER in text.translate(_AS_ZEROS)


def _one_with_care(text: bytes, owners: Mapping[str, str]) -> Candidate:
    try:
        found = _with_care(b"%b%b%b" % (_BEGINNING, text, _END), owners).candidates
    except ContractViolation:
        raise _Unusual from None
    if len(found) != 1:
        raise _Unusual
    return found[0]


def _as_usual(body: bytes, owners: Mapping[str, str]) -> Found:
    if rb"\u0000" in body or _has_long_number(body):
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
