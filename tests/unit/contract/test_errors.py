"""The exception tree: what catches what, and how errors are sent."""

import inspect

import pytest

import contract
from contract import (
    BadRequest,
    BreakerOpen,
    ContractViolation,
    Error,
    Forbidden,
    MemoryPluginError,
    NotFound,
    NotSupported,
    SearchRequest,
    Timeout,
    Unavailable,
    errors,
    parse,
    parse_value,
)

TREE = {
    BadRequest: MemoryPluginError,
    NotFound: MemoryPluginError,
    Forbidden: MemoryPluginError,
    NotSupported: MemoryPluginError,
    Unavailable: MemoryPluginError,
    BreakerOpen: Unavailable,
    Timeout: Unavailable,
    ContractViolation: MemoryPluginError,
}


def test_the_tree_matches_its_drawing() -> None:
    classes = {it for _, it in inspect.getmembers(errors, inspect.isclass)}
    kinds = {it for it in classes if issubclass(it, Exception)} - {MemoryPluginError}
    assert kinds == set(TREE)
    for kind, parent in TREE.items():
        assert kind.__base__ is parent
        assert f" {kind.__name__} " in (errors.__doc__ or "")
        assert getattr(contract, kind.__name__) is kind


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_an_error_is_an_envelope(kind: type[MemoryPluginError]) -> None:
    error = kind("limit: no", details={"field": "limit"})
    envelope = parse_value(Error, error.envelope())
    assert envelope.message == "limit: no"
    assert envelope.details == {"field": "limit"}
    assert parse_value(Error, kind("x").envelope()).details is None
    assert 400 <= error.status < 600
    assert kind("x", status=418).status == 418


def test_codes_and_statuses_are_those_of_the_contract() -> None:
    assert {kind.code: kind.default_status for kind in (BadRequest, NotFound, Forbidden)} == {
        "bad_request": 400,
        "not_found": 404,
        "forbidden": 403,
    }
    assert (Unavailable.code, Unavailable.default_status) == ("unavailable", 503)
    assert MemoryPluginError.code == "internal"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"namespaces": []}', "namespaces: must have at least 1 item"),
        (b'{"namespaces": ["a:b"], "embedding": []}', "embedding: must have at least 1 item"),
    ],
)
def test_a_list_that_is_too_short_is_reported_in_plain_words(body: bytes, message: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        parse(SearchRequest, body)
    assert refusal.value.message == message
