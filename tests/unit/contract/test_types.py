"""Any valid wire object survives JSON both ways; any invalid one is refused by name."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import contract
from contract import BadRequest, WireModel, parse
from tests.unit.contract.strategies import (
    OBJECTS,
    Json,
    aware_datetimes,
    nested,
    texts,
    times,
    valid,
)

each_model = pytest.mark.parametrize("model", OBJECTS, ids=lambda model: model.__name__)
WRITE = {"content": "The vault code is 4711.", "kind": "fact", "source": "agent"}


def as_bytes(value: Json) -> bytes:
    return json.dumps(value).encode()


def test_every_wire_type_is_tried() -> None:
    exported = [getattr(contract, name) for name in contract.__all__]
    models = {it for it in exported if isinstance(it, type) and issubclass(it, WireModel)}
    assert models - {WireModel} == set(OBJECTS)


@each_model
@settings(max_examples=20)
@given(st.data())
def test_a_valid_object_survives_json_both_ways(
    model: type[WireModel], data: st.DataObject
) -> None:
    sent = data.draw(valid(model))
    received = parse(model, as_bytes(sent))
    again = parse(model, received.to_json())
    assert again == received
    assert again.model_fields_set == received.model_fields_set
    assert json.loads(received.to_json()).keys() == sent.keys()


@given(valid(contract.MemoryWrite))
def test_what_is_opaque_comes_back_unchanged(sent: Json) -> None:
    kept = json.loads(parse(contract.MemoryWrite, as_bytes(sent)).to_json())
    for field in ("content", "propagation", "pin", "kind", "source"):
        assert kept.get(field) == sent.get(field)


@each_model
@settings(max_examples=40)
@given(st.data())
def test_an_invalid_field_is_refused_by_name(model: type[WireModel], data: st.DataObject) -> None:
    sent = data.draw(valid(model))
    name = data.draw(st.sampled_from(sorted(OBJECTS[model])))
    wrong = data.draw(OBJECTS[model][name].invalid)
    with pytest.raises(BadRequest) as refusal:
        parse(model, as_bytes(sent | {name: wrong}))
    assert refusal.value.message.startswith(name)
    assert refusal.value.details is not None
    assert refusal.value.details["field"].split(".")[0] == name


@each_model
@settings(max_examples=5)
@given(st.data())
def test_a_missing_field_is_refused_by_name(model: type[WireModel], data: st.DataObject) -> None:
    sent = data.draw(valid(model))
    required = sorted(name for name, field in OBJECTS[model].items() if field.required)
    if not required:
        return
    name = data.draw(st.sampled_from(required))
    del sent[name]
    with pytest.raises(BadRequest, match=rf"^{name}: is required"):
        parse(model, as_bytes(sent))


@given(valid(contract.MemoryWrite), st.dictionaries(texts, st.integers()))
def test_unknown_fields_are_ignored(sent: Json, unknown: dict[str, int]) -> None:
    unknown = {f"x_{name}": value for name, value in unknown.items()}
    kept = parse(contract.MemoryWrite, as_bytes(unknown | sent))
    assert kept == parse(contract.MemoryWrite, as_bytes(sent))


@pytest.mark.parametrize(
    "unknown",
    [as_bytes(nested(300)), rb'"a\ud800b"', rb'"\u0000"', b"9" * 5000],
    ids=["deep", "surrogate", "nul", "endless"],
)
def test_an_unknown_field_is_ignored_even_if_it_is_huge(unknown: bytes) -> None:
    body = as_bytes(WRITE | {"later": "@"}).replace(b'"@"', unknown)
    assert parse(contract.MemoryWrite, body).content == WRITE["content"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"null", b"[]", b'"text"', b"\xff", b'\xef\xbb\xbf{"kind":"team"}', b"[" * 100_000],
)
def test_a_body_that_is_not_a_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest, match=r"^body: must"):
        parse(contract.NamespaceUpsert, body)


@pytest.mark.parametrize("digits", [50, 400, 5000])
@pytest.mark.parametrize(("field", "value"), [("embedding", b"[0, %b]"), ("pin", b"%b")])
def test_a_very_long_number_is_refused_by_name(field: str, value: bytes, digits: int) -> None:
    body = as_bytes(WRITE | {field: "@"}).replace(b'"@"', value % (b"9" * digits))
    with pytest.raises(BadRequest, match=rf"^{field}"):
        parse(contract.MemoryWrite, body)


def test_a_refusal_never_shows_what_was_sent() -> None:
    secrets = {
        "content": "the vault code is 4711\x00",
        "kind": "the vault code is 4711",
        "source": 4711,
        "id": "the vault code is 4711",
        "expires_at": "the vault code is 4711",
        "propagation": ["the vault code is 4711"],
        "pin": "the vault code is 4711",
        "embedding": ["the vault code is 4711"],
    }
    with pytest.raises(BadRequest) as refusal:
        parse(contract.MemoryWrite, as_bytes(secrets))
    assert "4711" not in str(refusal.value)
    assert "4711" not in str(refusal.value.details)
    assert "and 3 more" in str(refusal.value)


def test_absent_and_null_are_distinguished() -> None:
    absent = parse(contract.NamespaceUpsert, b'{"kind": "team"}')
    null = parse(contract.NamespaceUpsert, b'{"kind": "team", "expires_at": null}')
    assert absent.expires_at is null.expires_at is None
    assert absent.model_fields_set == {"kind"}
    assert null.model_fields_set == {"kind", "expires_at"}
    assert json.loads(absent.to_json()) == {"kind": "team"}
    assert json.loads(null.to_json()) == {"kind": "team", "expires_at": None}


def test_a_patch_needs_a_field() -> None:
    for body in (b"{}", b'{"unknown": 1}'):
        with pytest.raises(BadRequest, match="at least one of expires_at, metadata"):
            parse(contract.NamespacePatch, body)


@given(times())
def test_a_time_is_kept_to_the_microsecond_in_utc(text: str) -> None:
    moment = contract.parse_time(text)
    assert moment.tzinfo is UTC
    digits = text.split(".")[1].rstrip("zZ").split("+")[0].split("-")[0] if "." in text else ""
    assert moment.microsecond == int(digits.ljust(9, "0")[:6])
    assert contract.format_time(moment).endswith("Z")
    assert contract.parse_time(contract.format_time(moment)) == moment


@given(aware_datetimes)
def test_a_time_is_the_instant_that_was_written(moment: datetime) -> None:
    assert contract.parse_time(moment.isoformat().replace("+00:00", "Z")) == moment
    assert contract.parse_time(moment) == moment


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-31T12:00:00.123456789Z", "2026-01-31T12:00:00.123456Z"),
        ("2026-01-31T12:00:00.999999999Z", "2026-01-31T12:00:00.999999Z"),
        ("2026-01-31T23:30:00-02:30", "2026-02-01T02:00:00Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
    ],
)
def test_times_by_example(text: str, instant: str) -> None:
    assert contract.format_time(contract.parse_time(text)) == instant


def test_names_of_a_later_version_are_dropped_from_health() -> None:
    health = parse(
        contract.HealthResponse,
        b'{"status": "ok", "version": "1.1.0", "capabilities": ["fts", "telepathy"],'
        b' "extensions": ["list", "dreams"]}',
    )
    assert health.capabilities == ["fts"]
    assert health.extensions == ["list"]


def test_a_repr_shows_no_memory_content() -> None:
    write = parse(contract.MemoryWrite, as_bytes(WRITE | {"propagation": {"code": 4711}}))
    search = contract.SearchRequest(namespaces=["team:1"], query="4711", embedding=[4711])
    memory = contract.Memory(
        id="018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11",  # type: ignore[arg-type]
        namespace="team:1",
        content="4711",
        kind="fact",
        source="agent",
        created_at=datetime.now(UTC).replace(microsecond=0),
    )
    for model in (write, search, contract.SearchResponse(memories=[memory])):
        assert "4711" not in repr(model) + str(model)
