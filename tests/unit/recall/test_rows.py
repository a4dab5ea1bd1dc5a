"""Answers of a plugin become memories, quickly where they have the usual form."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract import ContractViolation, SearchResponse, read_answer
from recall.memory import from_row
from recall.rows import Found, Reader

_OWNERS = {"custom:apikey:ada": "ada"}
_OTHER_ID = "00000000-0000-4000-8000-000000000002"


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
    found = Reader().read(_body(_row()), _OWNERS)
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
    [memory] = Reader().read(_body(_row(**unusual)), _OWNERS).memories
    [usual] = Reader().read(_body(_row(id=memory.id)), _OWNERS).memories
    assert memory == usual


@pytest.mark.parametrize(
    "foreign", [None, {}, {"v": 2}, {"v": 1}, {**_row()["propagation"], "type": ["factual"]}]
)
def test_a_row_that_recall_did_not_write_has_its_id_as_key(foreign: Any) -> None:
    [memory] = Reader().read(_body(_row(propagation=foreign)), _OWNERS).memories
    assert (memory.key, memory.type) == (memory.id, "factual")
    assert memory.created_at == memory.updated_at
    assert memory.created_at.day == 3


@pytest.mark.parametrize("broken", [{"content": "\x00"}, {"content": 1}, {"kind": []}, {"id": "1"}])
def test_a_broken_row_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ContractViolation):
        Reader().read(_body(_row(**broken)), _OWNERS)


_STRANGE = st.sampled_from(
    [
        "I like tea",
        '},{"id":"',
        '},{"id":"00000000-0000-4000-8000-000000000009"',
        ',"score":0.5',
        '"}]}',
        "\\",
        '\\"',
        "é😀\n",
    ]
)
_VALUES = st.recursive(
    st.one_of(st.none(), st.floats(0, 2), _STRANGE),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["id", "score", "memories"]), inner, max_size=2),
    ),
    max_leaves=4,
)


@st.composite
def _rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    rows = []
    for number in range(draw(st.integers(0, 3))):
        row = _row(id=f"00000000-0000-4000-8000-{number:012d}", content=draw(_STRANGE))
        row["propagation"]["metadata"] = {"m": draw(_VALUES)}
        score = draw(st.one_of(st.none(), st.floats(0, 2, allow_subnormal=False)))
        row["score"] = score
        if score is None:
            del row["score"]
        if draw(st.booleans()):
            # A field that is not known may stand behind the score.
            row["more"] = draw(_VALUES)
        rows.append(row)
    return rows


@given(st.lists(_rows(), min_size=1, max_size=3))
def test_whatever_rows_hold_they_are_read_as_the_contract_reads_them(
    answers: list[list[dict[str, Any]]],
) -> None:
    reader = Reader()
    for rows in [*answers, *answers]:
        checked = read_answer(SearchResponse, _body(*rows)).memories
        found = reader.read(_body(*rows), _OWNERS)
        assert found.memories == [from_row(row, "ada") for row in checked]
        assert found.scores == [row.score or 0.0 for row in checked]


def test_a_row_is_read_once_and_has_the_score_of_each_answer() -> None:
    reader = Reader()
    first = reader.read(_body(_row()), _OWNERS)
    again = reader.read(_body(_row(score=0.25)), dict(_OWNERS))
    assert again.candidates[0] is first.candidates[0]
    assert (first.scores, again.scores) == ([0.5], [0.25])


def test_only_what_an_answer_holds_is_found() -> None:
    reader = Reader()
    tea, coffee = _row(), _row(content="I like coffee")
    assert len(reader.read(_body(tea, _row(id=_OTHER_ID)), _OWNERS).memories) == 2
    assert reader.read(_body(), _OWNERS) == Found([], [])
    [memory] = reader.read(_body(coffee), _OWNERS).memories
    assert (memory.id, memory.content) == (tea["id"], "I like coffee")
    assert reader.read(_body(tea), {}).memories == []
    [memory] = reader.read(_body(tea), {"custom:apikey:ada": "other"}).memories
    assert memory.api_key_id == "other"


def test_a_row_that_grows_is_read_anew() -> None:
    reader = Reader()
    short = _row(score=None)
    del short["score"], short["propagation"]
    longer = {**short, "expires_at": "2026-02-01T00:00:00Z"}
    [memory] = reader.read(_body(short), _OWNERS).memories
    assert memory.expires_at is None
    [memory] = reader.read(_body(longer), _OWNERS).memories
    assert memory.expires_at is not None
    again = reader.read(_body(longer), _OWNERS).candidates[0]
    assert reader.read(_body(longer), _OWNERS).candidates[0] is again


def test_a_reader_drops_rows_that_it_has_no_room_for() -> None:
    rows = [_row(content=f"I like tea number {number}") for number in range(10)]
    reader = Reader(most_bytes=2 * len(_body(rows[0])))
    first, *_ = [reader.read(_body(row), _OWNERS).candidates[0] for row in rows]
    last = reader.read(_body(rows[-1]), _OWNERS).candidates[0]
    assert reader.read(_body(rows[-1]), _OWNERS).candidates[0] is last
    assert reader.read(_body(rows[0]), _OWNERS).candidates[0] is not first


@pytest.mark.parametrize("number", [2**63 - 1, 2**64 - 1, 2**64, -(2**63) - 1, 10**30])
def test_a_number_of_any_size_is_read_as_it_is(number: int) -> None:
    note = {**_row()["propagation"], "metadata": {"n": number}}
    large, small = _row(propagation=note), _row(id=_OTHER_ID)
    for rows in ((large, small), (small, large), (large,)):
        # Not orjson, which writes no such number.
        bodies = [json.dumps({"memories": rows}, separators=(",", ":")).encode()]
        bodies.append(json.dumps({"memories": rows}).encode())
        for body in bodies:
            found = Reader().read(body, _OWNERS)
            metadata = [one.metadata for one in found.memories]
            assert metadata == [row["propagation"]["metadata"] for row in rows]
            assert found.scores == [0.5] * len(rows)
