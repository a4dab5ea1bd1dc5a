"""The ids and scores in a plugin's search response; PostgreSQL has the rest."""

from contextlib import suppress
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from contract import SearchResponse, read_answer
from conversations.ids import find_uuid


class Find(NamedTuple):
    """A message that the plugin found, and its score."""

    id: UUID
    score: float


def read_finds(body: bytes) -> list[Find]:
    """The memories in a search response, in order; raises `ContractViolation`.

    Validating every value against the contract takes three times as long, so that is done only if
    a value that we use looks unusual.
    """
    with suppress(KeyError, TypeError, ValueError):
        memories = orjson.loads(body)["memories"]
        if type(memories) is list:
            return [_read(memory) for memory in memories]
    answer = read_answer(SearchResponse, body)
    return [Find(memory.id, memory.score or 0.0) for memory in answer.memories]


def _read(memory: dict[str, Any]) -> Find:
    key = find_uuid(memory["id"])
    score = memory.get("score", 0.0)
    if key is None or type(score) is not float:
        raise ValueError
    return Find(key, score)
