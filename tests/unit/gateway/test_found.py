"""What a plugin answers to a search, as the gateway reads it."""

from typing import Any

import orjson
import pytest

from contract import ContractViolation
from gateway.plugin import read_found

_ID = "0be7a1c8-5d0e-4a52-9a52-3b6f6f3f0c11"
_ROW: dict[str, Any] = {
    "id": _ID,
    "namespace": "custom:a",
    "content": "tea",
    "kind": "fact",
    "source": "user",
    "created_at": "2026-01-02T03:04:05Z",
    "score": 0.5,
}


def body(*rows: Any) -> bytes:
    return orjson.dumps({"memories": rows})


def test_memories_are_read_in_order() -> None:
    other = _ROW | {"id": _ID.replace("0be7", "1be7"), "content": "coffee", "score": 0.25}
    found = read_found(body(_ROW, other))
    assert found == [(_ID, "tea", 0.5), (other["id"], "coffee", 0.25)]
    assert read_found(body()) == []


def test_without_scores_the_order_is_kept() -> None:
    rows = [_ROW | {"id": _ID.replace("0be7", f"{place}be7")} for place in range(3)]
    for row in rows:
        del row["score"]
    for body_ in (body(*rows), body(*rows).replace(b"tea", rb"\u0074ea \\u0000")):
        scores = [score for _, _, score in read_found(body_)]
        assert scores == sorted(set(scores), reverse=True)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"score": None}, (_ID, "tea", 0.0)),
        ({"score": 2}, (_ID, "tea", 2.0)),
        ({"id": _ID.upper()}, (_ID, "tea", 0.5)),
        ({"content": r"a \u0000 in clear text"}, (_ID, r"a \u0000 in clear text", 0.5)),
    ],
)
def test_an_unusual_row_is_read_too(
    changed: dict[str, Any], expected: tuple[str, str, float]
) -> None:
    assert read_found(body(_ROW, _ROW | changed)) == [(_ID, "tea", 0.5), expected]


def test_a_list_that_is_null_is_empty() -> None:
    assert read_found(b'{"memories": null}') == []


@pytest.mark.parametrize(
    "changed",
    [
        {"id": "1"},
        {"id": 1},
        {"id": f"{_ID}\n"},
        {"content": None},
        {"content": ["tea"]},
        {"content": "a\x00b"},
        {"score": "0.5"},
        {"score": True},
    ],
)
def test_a_row_that_breaks_the_contract_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ContractViolation):
        read_found(body(_ROW, _ROW | changed))


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"memories": {"id": 1}}', b"not JSON"])
def test_an_answer_that_is_no_list_of_memories_is_refused(answer: bytes) -> None:
    with pytest.raises(ContractViolation):
        read_found(answer)
