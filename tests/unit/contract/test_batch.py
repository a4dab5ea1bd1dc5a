"""The body of a batch: one bad write does not fail the others."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract import MAX_WRITES, BadRequest, BatchWrite, parse_writes
from tests.unit.contract.strategies import OBJECTS, valid

GOOD = {"namespace": "team:1", "content": "kept", "kind": "fact", "source": "agent"}


def body(*writes: Any) -> bytes:
    return json.dumps({"writes": writes}).encode()


def test_good_writes_come_out_in_order() -> None:
    writes = parse_writes(body(GOOD | {"content": "one"}, GOOD | {"content": "two"}))
    assert [write.content for write in writes if isinstance(write, BatchWrite)] == ["one", "two"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (5, "writes.1: must be a JSON object"),
        (None, "writes.1: must be a JSON object"),
        ({}, "writes.1.content: is required"),
        (GOOD | {"content": " "}, "writes.1.content: must not be blank"),
        (GOOD | {"content": "\x00"}, "writes.1.content: must not contain a NUL character"),
        (GOOD | {"content": "\ud800"}, "writes.1.content: must not contain a lone surrogate"),
        (GOOD | {"embedding": [0, math.nan]}, "writes.1.embedding.1: must be a finite number"),
        (GOOD | {"namespace": "nowhere"}, "writes.1.namespace: must match pattern"),
        (GOOD | {"created_at": "yesterday"}, "writes.1.created_at: must be an RFC 3339 time"),
    ],
)
def test_a_bad_write_is_refused_in_its_place(wrong: Any, message: str) -> None:
    first, second, third = parse_writes(body(GOOD, wrong, GOOD))
    assert isinstance(first, BatchWrite)
    assert isinstance(third, BatchWrite)
    assert isinstance(second, BadRequest)
    assert second.message.startswith(message)


@settings(max_examples=50)
@given(st.data(), valid(BatchWrite), valid(BatchWrite))
def test_any_bad_write_names_its_field_and_does_not_affect_the_next(
    data: st.DataObject, good: Any, bad: Any
) -> None:
    name = data.draw(st.sampled_from(sorted(OBJECTS[BatchWrite])))
    wrong = data.draw(OBJECTS[BatchWrite][name].invalid)
    alone = parse_writes(body(good))
    kept, refused = parse_writes(body(good, bad | {name: wrong}))
    assert [kept] == alone
    assert isinstance(refused, BadRequest)
    assert refused.message.startswith(f"writes.1.{name}")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (b"", "body: must be JSON"),
        (b"{", "body: must be JSON"),
        (b"\xff", "body: must be JSON in UTF-8"),
        (b"[]", "body: must be a JSON object"),
        (b"{}", "writes: is required"),
        (b'{"writes": null}', "writes: must be a list"),
        (b'{"writes": {}}', "writes: must be a list"),
        (b'{"writes": []}', "writes: must have at least 1 item"),
        (body(*[GOOD] * (MAX_WRITES + 1)), "writes: must have at most 1000 items"),
        (b'{"writes": ' + b"[" * 100_000, "body: must not be nested too deeply"),
    ],
    ids=["empty", "cut", "latin", "list", "bare", "null", "object", "none", "many", "deep"],
)
def test_a_malformed_request_is_refused_as_a_whole(wrong: bytes, message: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        parse_writes(wrong)
    assert refusal.value.message.startswith(message)


def test_a_full_batch_is_accepted() -> None:
    assert len(parse_writes(body(*[GOOD] * MAX_WRITES))) == MAX_WRITES
