"""Hypothesis strategies for wire objects: any valid one, and invalid values for every field.

Every object that a plugin or a client sends is described once, field by field. A field is a pair of
strategies: what it accepts, and what it must refuse.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

import contract
from contract import WireModel
from contract.scalars import MAX_DEPTH

Json = Any

# Strings that JSON can express and PostgreSQL can store.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
contents = texts.filter(lambda text: bool(text.strip()))
poisoned_texts = st.sampled_from(["a\x00b", "\x00", "a\ud800b", "\udfff"])
not_strings = st.sampled_from([1, 1.5, True, [], {}, ["text"]])
not_objects = st.sampled_from([1, "text", True, [], [{}]])
not_lists = st.sampled_from([1, "text", True, {}])
not_booleans = st.sampled_from([0, 1, "true", "", [], {}])

names = st.from_regex(r"\A[a-z]{1,9}:[A-Za-z0-9_:.\-]{1,40}\Z")
bad_names = st.one_of(
    not_strings,
    st.none(),
    st.sampled_from(
        [
            "",
            "workspace",
            "workspace:",
            ":1",
            "Workspace:1",
            "a b:c",
            "a:b c",
            "a:b/c",
            "a:b\n",
            "ä:1",
        ]
    ),
    st.just("a:" + "b" * 255),
    poisoned_texts,
)
uuids = st.uuids().map(str) | st.uuids().map(lambda uuid: str(uuid).upper())
bad_uuids = st.one_of(
    not_strings,
    st.sampled_from(["", "1", "018f3c2e7c4b7d5a9b1e2f6a4c8d0e11", "g" * 36, "a\x00b"]),
    st.uuids().map(lambda uuid: f"{{{uuid}}}"),
)


@st.composite
def times(draw: st.DrawFn) -> str:
    """RFC 3339 times in every valid form, with zero to nine decimals."""
    offset = draw(st.none() | st.integers(-23 * 60 - 59, 23 * 60 + 59))
    moment = draw(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)))  # noqa: DTZ001
    digits = draw(st.text("0123456789", max_size=9))
    text = moment.strftime("%m-%dT%H:%M:%S")
    text = f"{moment.year:04}-{text}" + (f".{digits}" if digits else "")
    if offset is None:
        return text + draw(st.sampled_from("zZ"))
    hours, minutes = divmod(abs(offset), 60)
    return f"{text}{'-' if offset < 0 else '+'}{hours:02}:{minutes:02}"


aware_datetimes = st.datetimes(
    datetime(2, 1, 1),  # noqa: DTZ001
    datetime(9998, 12, 31),  # noqa: DTZ001
    timezones=st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
bad_times = st.one_of(
    not_strings,
    st.sampled_from(
        [
            "",
            "now",
            "2026-01-31",
            "2026-01-31T12:00:00",
            "2026-01-31 12:00:00Z",
            "2026-02-30T12:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T12:00:00.1234567890Z",
            "2026-01-31T12:00:00+24:00",
            "2026-01-31T12:00Z",
            "0000-01-01T00:00:00Z",
            "٢٠٢٦-01-31T12:00:00Z",
        ]
    ),
)

numbers = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.integers(-9, 10**38)
embeddings = st.lists(numbers, min_size=1, max_size=8)
bad_embeddings = st.one_of(
    not_lists,
    st.just([]),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e39, 10**400, "1", None, True, [1]]).map(
        lambda number: [0.5, number]
    ),
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)


def nested(levels: int) -> Json:
    """A JSON object that is `levels` levels deep, itself included."""
    value: Json = {}
    for _ in range(levels - 1):
        value = {"deeper": value}
    return value


bad_json_objects = st.one_of(
    not_objects,
    st.sampled_from(
        [
            {"a": math.nan},
            {"a": [math.inf]},
            {"a": "\x00"},
            {"\x00": 1},
            {"a": [{"b": "\ud800"}]},
            {"\udfff": 1},
            nested(MAX_DEPTH + 1),
            nested(400),
        ]
    ),
)


@dataclass(frozen=True)
class Field:
    """What a field accepts and what it refuses; null is refused unless the field is nullable."""

    valid: st.SearchStrategy[Json]
    invalid: st.SearchStrategy[Json]
    required: bool = True

    @property
    def nullable(self) -> "Field":
        return Field(self.valid | st.none(), self.invalid, required=False)

    @property
    def optional(self) -> "Field":
        return Field(self.valid, self.invalid | st.none(), required=False)


def one_of(*values: str) -> Field:
    others = st.sampled_from(["", "other", values[0].upper()]).filter(lambda it: it not in values)
    return Field(st.sampled_from(values), not_strings | st.none() | others | poisoned_texts)


def integer(low: int, high: int) -> Field:
    wrong = st.sampled_from([low - 1, high + 1, low + 0.5, str(low), True, [low], 10**400, 1e300])
    return Field(st.integers(low, high) | st.integers(low, high).map(float), wrong)


def list_of(item: Field, *, least: int = 0) -> Field:
    invalid = not_lists | item.invalid.map(lambda wrong: [wrong])
    if least:
        invalid |= st.just([])
    return Field(st.lists(item.valid, min_size=least, max_size=3), invalid)


count = Field(st.integers(0, 10**15), st.sampled_from([-1, 0.5, "1", True, None, [1]]))
name = Field(names, bad_names)
uuid = Field(uuids, bad_uuids | st.none())
time = Field(times(), bad_times | st.none())
text = Field(texts, not_strings | poisoned_texts)
content = Field(
    contents, not_strings | st.none() | poisoned_texts | st.sampled_from(["", " \t\n\u3000"])
)
json_object = Field(json_objects, bad_json_objects)
boolean = Field(st.booleans(), not_booleans)
embedding = Field(embeddings, bad_embeddings)
memory_kind = one_of("fact", "summary", "checkpoint")
memory_source = one_of("agent", "runtime", "user")
namespace_kind = one_of("workspace", "team", "org", "custom")

field_names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=64
)
filter_values = (
    st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=512)
)
field_name = Field(field_names, not_strings | st.sampled_from(["", "n" * 65, "a\x00b", "a\ud800b"]))
where = Field(
    st.dictionaries(field_names, filter_values, min_size=1, max_size=8),
    st.one_of(
        not_objects,
        st.just({}),
        st.just({f"name{number}": number for number in range(9)}),
        st.sampled_from(["", "n" * 65, "a\x00b"]).map(lambda name: {name: 1}),
        st.sampled_from([None, [], ["a"], {}, "v" * 513, math.nan, math.inf, "\x00"]).map(
            lambda value: {"name": value}
        ),
    ),
)
_filter = {
    "where": where.nullable,
    "created_after": Field(times(), bad_times).nullable,
    "created_before": Field(times(), bad_times).nullable,
}

_write = {
    "content": content,
    "kind": memory_kind,
    "source": memory_source,
    "id": Field(uuids, bad_uuids).nullable,
    "expires_at": Field(times(), bad_times).nullable,
    "propagation": json_object.nullable,
    "pin": boolean.nullable,
    "embedding": embedding.nullable,
}

OBJECTS: dict[type[WireModel], dict[str, Field]] = {
    contract.NamespaceUpsert: {
        "kind": namespace_kind,
        "expires_at": Field(times(), bad_times).nullable,
        "metadata": json_object.nullable,
    },
    contract.NamespacePatch: {
        "expires_at": Field(times(), bad_times).nullable,
        "metadata": json_object.nullable,
    },
    contract.Namespace: {
        "name": name,
        "kind": namespace_kind,
        "created_at": time,
        "expires_at": Field(times(), bad_times).nullable,
        "metadata": json_object.nullable,
    },
    contract.MemoryWrite: _write,
    contract.BatchWrite: _write
    | {"namespace": name, "created_at": Field(times(), bad_times).nullable},
    contract.MemoryWriteResponse: {"id": uuid, "namespace": name},
    contract.Memory: {
        "id": uuid,
        "namespace": name,
        "content": Field(texts, not_strings | st.none() | poisoned_texts),
        "kind": memory_kind,
        "source": memory_source,
        "created_at": time,
        "expires_at": Field(times(), bad_times).nullable,
        "propagation": json_object.nullable,
        "pin": boolean.nullable,
        "score": Field(numbers, st.sampled_from(["1", True, math.nan, math.inf])).nullable,
    },
    contract.MemoryDigest: {
        "id": uuid,
        "namespace": name,
        "content_sha256": Field(
            st.text("0123456789abcdef", min_size=64, max_size=64),
            not_strings | st.none() | st.sampled_from(["", "A" * 64, "a" * 63, "a" * 64 + "\n"]),
        ),
    },
    contract.ForgetRequest: {"requested_by_namespace": name},
    contract.SearchRequest: {
        "namespaces": list_of(name, least=1),
        "query": text.nullable,
        "kinds": list_of(memory_kind).nullable,
        "embedding": embedding.nullable,
        "limit": integer(1, 100).optional,
        **_filter,
    },
    contract.ListRequest: {
        "namespaces": list_of(name, least=1),
        "cursor": text.nullable,
        "limit": integer(1, 1000).optional,
        "fields": one_of("full", "digest").optional,
        "order": one_of("id", "newest").optional,
        "kinds": list_of(memory_kind).nullable,
        **_filter,
    },
    contract.CountRequest: {
        "namespaces": list_of(name, least=1),
        "kinds": list_of(memory_kind).nullable,
        "group_by": field_name.nullable,
        **_filter,
    },
    contract.CountGroup: {
        "value": Field(
            filter_values | st.none(), st.sampled_from([[], {}, ["a"], math.nan, "a\x00b"])
        ),
        "count": count,
    },
    contract.Error: {
        "code": one_of("bad_request", "not_found", "forbidden", "internal", "unavailable"),
        "message": Field(texts, not_strings | st.none() | poisoned_texts),
        "details": json_object.nullable,
    },
}


@st.composite
def valid(draw: st.DrawFn, model: type[WireModel]) -> Json:
    """A valid object of the model, with or without each of its optional fields."""
    fields = OBJECTS[model]
    present = [name for name in fields if fields[name].required or draw(st.booleans())]
    if model is contract.NamespacePatch and not present:
        present = [draw(st.sampled_from(sorted(fields)))]
    return {name: draw(fields[name].valid) for name in draw(st.permutations(present))}


def object_of(model: type[WireModel]) -> Field:
    return Field(valid(model), not_objects | st.none() | st.just({}))


_health = {
    "version": Field(texts, not_strings | st.none() | poisoned_texts),
    "capabilities": list_of(Field(st.sampled_from(contract.CAPABILITIES), not_strings)),
    "extensions": list_of(Field(st.sampled_from(contract.EXTENSIONS), not_strings)).nullable,
}
OBJECTS |= {
    contract.HealthResponse: _health | {"status": one_of("ok", "degraded")},
    contract.DegradedHealth: OBJECTS[contract.Error] | _health | {"status": one_of("degraded")},
    contract.SearchResponse: {"memories": list_of(object_of(contract.Memory))},
    contract.ListResponse: {
        "memories": list_of(object_of(contract.Memory)),
        "next_cursor": text.nullable,
    },
    contract.CountResponse: {
        "count": count,
        "groups": list_of(object_of(contract.CountGroup)).nullable,
    },
    contract.BatchRequest: {"writes": list_of(object_of(contract.BatchWrite), least=1)},
    contract.BatchFailure: {"error": object_of(contract.Error)},
    contract.BatchResponse: {
        "results": list_of(
            Field(
                valid(contract.MemoryWriteResponse) | valid(contract.BatchFailure),
                not_objects | st.none() | st.just({}),
            )
        )
    },
}
