"""Ids and scores of a plugin's answer, however it is written."""

import json
from typing import Any
from uuid import UUID

import pytest

from contract import ContractViolation
from conversations.finds import Find, read_finds

KEY = UUID("018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11")
MEMORY: dict[str, Any] = {
    "id": str(KEY),
    "namespace": "custom:conv:018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e12",
    "content": "Is it open on Sundays?",
    "kind": "fact",
    "source": "user",
    "created_at": "2026-01-02T03:04:05Z",
    "score": 0.25,
}


def body(**changes: Any) -> bytes:
    return json.dumps({"memories": [MEMORY | changes]}).encode()


@pytest.mark.parametrize(
    ("changes", "score"),
    [
        ({}, 0.25),
        ({"id": str(KEY).upper()}, 0.25),
        ({"score": 1}, 1.0),
        ({"score": None}, 0.0),
        ({"some_day": [1, {}]}, 0.25),
    ],
    ids=["usual", "capitals", "a whole score", "no score", "an unknown field"],
)
def test_a_memory_is_read_however_it_is_written(changes: dict[str, Any], score: float) -> None:
    assert read_finds(body(**changes)) == [Find(KEY, score)]


@pytest.mark.parametrize("nothing", [b'{"memories": []}', b'{"memories": null}'])
def test_nothing_was_found(nothing: bytes) -> None:
    assert read_finds(nothing) == []


@pytest.mark.parametrize(
    "broken",
    {
        "empty": b"",
        "a list": b"[]",
        "no memories": b"{}",
        "an object": b'{"memories": {}}',
        "a text": b'{"memories": ""}',
        "a number": b'{"memories": [7]}',
        "no UUID": body(id="7"),
        "a number as id": body(id=7),
        "a word as score": body(score="high"),
    }.values(),
)
def test_an_answer_that_breaks_the_contract_is_a_violation(broken: bytes) -> None:
    with pytest.raises(ContractViolation):
        read_finds(broken)
