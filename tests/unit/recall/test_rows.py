"""Answers of a plugin become memories, quickly where they have the usual form."""

from typing import Any

import orjson
import pytest

from contract import ContractViolation
from recall.rows import Found, Reader, read_found

_OWNERS = {"custom:apikey:ada": "ada"}


def _row(**changes: Any) -> dict[str, Any]:
    note = {
        "v": 1,
        "apiKeyId": "ada",
        "type": "episodic",
        "key": "k",
        "sessionId": "s",
        "metadata": {"a": 1},
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-02T00:00:00Z",
        "embeddedWith": None,
    }
    return {
        "id": "00000000-0000-4000-8000-000000000001",
        "namespace": "custom:apikey:ada",
        "content": "I like tea",
        "kind": "fact",
        "source": "user",
        "created_at": "2026-01-03T00:00:00Z",
        "propagation": note,
        "score": 0.5,
        **changes,
    }


def _body(*rows: dict[str, Any]) -> bytes:
    return orjson.dumps({"memories": rows})


def test_a_row_of_ours_shows_what_was_written_beside_it() -> None:
    found = read_found(_body(_row()), _OWNERS)
    [memory] = found.memories
    assert (memory.key, memory.type, memory.session_id) == ("k", "episodic", "s")
    assert (memory.created_at.day, memory.updated_at.day) == (1, 2)
    assert memory.metadata == {"a": 1}
    assert found.scores == [0.5]


@pytest.mark.parametrize(
    "unusual",
    [
        {"id": "00000000-0000-4000-8000-00000000000A"},
        {"created_at": "2026-01-03T02:00:00+02:00"},
        {"score": 1},
        {"pin": None},
        {"propagation": {**_row()["propagation"], "updatedAt": "2026-01-02T01:00:00+01:00"}},
    ],
)
def test_an_unusual_form_is_read_as_the_usual_one(unusual: dict[str, Any]) -> None:
    [memory] = read_found(_body(_row(**unusual)), _OWNERS).memories
    [usual] = read_found(_body(_row(id=memory.id)), _OWNERS).memories
    assert memory == usual


@pytest.mark.parametrize(
    "foreign", [None, {}, {"v": 2}, {"v": 1}, {**_row()["propagation"], "type": ["factual"]}]
)
def test_a_row_that_recall_did_not_write_has_its_id_as_key(foreign: Any) -> None:
    [memory] = read_found(_body(_row(propagation=foreign)), _OWNERS).memories
    assert (memory.key, memory.type) == (memory.id, "factual")
    assert memory.created_at == memory.updated_at
    assert memory.created_at.day == 3


@pytest.mark.parametrize("broken", [{"content": "\x00"}, {"content": 1}, {"kind": []}, {"id": "1"}])
def test_a_broken_row_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ContractViolation):
        read_found(_body(_row(**broken)), _OWNERS)


def test_the_same_answer_is_parsed_once_and_a_different_one_again() -> None:
    reader = Reader()
    first = reader.read_again(_body(_row()), dict(_OWNERS))
    assert reader.read_again(_body(_row()), dict(_OWNERS)) is first
    assert reader.read_again(_body(), dict(_OWNERS)) == Found([], [])
    [memory] = reader.read_again(_body(_row()), {"custom:apikey:ada": "other"}).memories
    assert memory.api_key_id == "other"


def test_a_reader_drops_answers_that_it_has_no_room_for() -> None:
    body, other = _body(_row()), _body(_row(content="I like coffee"))
    reader = Reader(most_bytes=len(other))
    first = reader.read_again(body, _OWNERS)
    second = reader.read_again(other, _OWNERS)
    assert reader.read_again(other, _OWNERS) is second
    assert reader.read_again(body, _OWNERS) is not first
