"""The life of a namespace: created, refreshed, changed, deleted."""

from typing import Any

from contract import MemoryPluginError, Namespace, parse
from harness.check import check
from harness.errors import Failure
from harness.exchange import Exchange
from harness.trial import Trial, expect_equal

_ABSENT = (
    "A field that is absent leaves the stored value, an explicit null clears it; PATCH follows"
    " the same rule as PUT."
)


def namespace_of(answer: Exchange) -> Namespace:
    """The Namespace in an answer; Failure unless it has the shape of the contract."""
    answer.expect(200)
    try:
        return parse(Namespace, answer.body)
    except MemoryPluginError as error:
        raise Failure(f"a Namespace ({error})", answer.shown) from None


@check("namespaces.put-creates", "PUT /v1/namespaces/{name}: 200 Namespace.")
async def put_creates(trial: Trial) -> None:
    """Creates a namespace and expects it back with its name, kind and time."""
    name = trial.name()
    made = namespace_of(await trial.put(name, metadata={"owner": "me"}))
    expect_equal("name", made.name, name)
    expect_equal("kind", made.kind, "custom")
    expect_equal("metadata", made.metadata, {"owner": "me"})


@check("namespaces.has-four-kinds", "kind: workspace, team, org, custom.")
async def has_four_kinds(trial: Trial) -> None:
    """Creates a namespace of each kind; the kind is a field and does not follow from the name."""
    for kind in ("workspace", "team", "org", "custom"):
        made = namespace_of(await trial.put(trial.name(), kind=kind))
        expect_equal("kind", made.kind, kind)


@check("namespaces.put-refreshes", "PUT is an upsert that creates or refreshes.")
async def put_refreshes(trial: Trial) -> None:
    """PUTs twice: the same namespace, with its first created_at."""
    name = trial.name()
    first = namespace_of(await trial.put(name))
    await trial.sleep(0.05)
    second = namespace_of(await trial.put(name))
    expect_equal("created_at after a second PUT", second.created_at, first.created_at)


@check("namespaces.refresh-keeps-memories", "PUT is an upsert that creates or refreshes.")
async def refresh_keeps_memories(trial: Trial) -> None:
    """PUTs a namespace with a memory in it again, as callers do before every commit."""
    name = await trial.namespace()
    await trial.written(name, "still here")
    (await trial.put(name)).expect(200)
    expect_equal("memories after a second PUT", await trial.contents(name), ["still here"])


@check("namespaces.put-changes-the-kind", "PUT is an upsert that creates or refreshes.")
async def put_changes_the_kind(trial: Trial) -> None:
    """PUTs with another kind: the new one is stored."""
    name = await trial.namespace(kind="custom")
    expect_equal("kind", namespace_of(await trial.put(name, kind="team")).kind, "team")
    (await trial.patch(name, metadata={})).expect(200)
    stored = namespace_of(await trial.patch(name, metadata={"a": 1}))
    expect_equal("kind as stored", stored.kind, "team")


@check("namespaces.put-keeps-what-is-absent", _ABSENT)
async def put_keeps_what_is_absent(trial: Trial) -> None:
    """PUTs with only the kind, as callers do before every commit: the metadata stays."""
    name = await trial.namespace(metadata={"keep": "me"})
    (await trial.put(name)).expect(200)
    expect_equal("metadata", namespace_of(await trial.put(name)).metadata, {"keep": "me"})


@check("namespaces.put-null-clears", _ABSENT)
async def put_null_clears(trial: Trial) -> None:
    """PUTs `metadata: null` and expects it gone, also on the next read."""
    name = await trial.namespace(metadata={"gone": True})
    expect_equal("metadata", namespace_of(await trial.put(name, metadata=None)).metadata, None)
    expect_equal("metadata as stored", namespace_of(await trial.put(name)).metadata, None)


@check("namespaces.put-replaces-metadata", _ABSENT)
async def put_replaces_metadata(trial: Trial) -> None:
    """PUTs other metadata: it replaces the old metadata, without merging."""
    name = await trial.namespace(metadata={"old": 1, "both": 1})
    (await trial.put(name, metadata={"new": 2, "both": 2})).expect(200)
    expect_equal("metadata", namespace_of(await trial.put(name)).metadata, {"new": 2, "both": 2})


@check("namespaces.patch-sets-metadata", "PATCH /v1/namespaces/{name}: 200 Namespace.")
async def patch_sets_metadata(trial: Trial) -> None:
    """PATCHes the metadata; name, kind, created_at and the memories stay."""
    name = trial.name()
    made = namespace_of(await trial.put(name, kind="team", metadata={"old": 1}))
    await trial.written(name, "still here")
    changed = namespace_of(await trial.patch(name, metadata={"new": 2}))
    expect_equal("metadata", changed.metadata, {"new": 2})
    expect_equal("kind", changed.kind, "team")
    expect_equal("name", changed.name, name)
    expect_equal("created_at", changed.created_at, made.created_at)
    expect_equal("memories", await trial.contents(name), ["still here"])


@check("namespaces.patch-null-clears", _ABSENT)
async def patch_null_clears(trial: Trial) -> None:
    """PATCHes `metadata: null` and expects it gone, also on the next read."""
    name = await trial.namespace(metadata={"gone": True})
    expect_equal("metadata", namespace_of(await trial.patch(name, metadata=None)).metadata, None)
    expect_equal("metadata as stored", namespace_of(await trial.put(name)).metadata, None)


@check("namespaces.patch-needs-a-field", "PATCH with neither field: 400.")
async def patch_needs_a_field(trial: Trial) -> None:
    """PATCHes with an empty object, and with fields that PATCH does not know."""
    name = await trial.namespace()
    (await trial.patch(name)).expect_error(400, "bad_request")
    (await trial.patch(name, kind="team")).expect_error(400, "bad_request")


@check("namespaces.patch-unknown", "PATCH /v1/namespaces/{name} declares 404.")
async def patch_unknown(trial: Trial) -> None:
    """PATCHes a namespace that does not exist: 404, and it is not created."""
    name = trial.name()
    (await trial.patch(name, metadata={})).expect_error(404, "not_found")
    (await trial.write(name, "nowhere")).expect_error(404, "not_found")


@check("namespaces.delete-unknown", "DELETE /v1/namespaces/{name} declares 404.")
async def delete_unknown(trial: Trial) -> None:
    """Deletes a namespace that does not exist, and one twice."""
    name = trial.name()
    (await trial.delete(name)).expect_error(404, "not_found")
    (await trial.put(name)).expect(200)
    (await trial.delete(name)).expect(204)
    (await trial.delete(name)).expect_error(404, "not_found")


@check("namespaces.keeps-metadata-exactly", "metadata: any JSON object.")
async def keeps_metadata_exactly(trial: Trial) -> None:
    """Stores awkward metadata and expects the same JSON back."""
    name = trial.name()
    awkward: dict[str, Any] = {
        "": "empty key",
        "null": None,
        "deep": {"list": [[], {}, [None, True, 1.5, "x"]]},
        "ключ 🔑": 'значение\n\t"\\',
        "big": 9007199254740993,
    }
    for metadata in (awkward, {}):
        answer = (await trial.put(name, metadata=metadata)).expect(200)
        expect_equal("metadata", answer.object.get("metadata"), metadata)
    (await trial.put(name, metadata=awkward)).expect(200)
    expect_equal("metadata as stored", (await trial.put(name)).object.get("metadata"), awkward)


@check("namespaces.long-names", "Namespace name: a path segment of 1 to 256 characters.")
async def long_names(trial: Trial) -> None:
    """Uses a name of exactly 256 characters for a write and a search; 257 are refused."""
    name = await trial.special_name("." + "x" * 256, longest=256)
    (await trial.put(name)).expect(200)
    await trial.written(name, "far out")
    expect_equal("memories", await trial.contents(name), ["far out"])
    trial.own(name + "x")
    (await trial.put(name + "x")).expect_error(400, "bad_request")


@check(
    "namespaces.all-characters",
    r"Namespace name: ^[a-z]+:[A-Za-z0-9_:.\-]+$",
)
async def all_characters(trial: Trial) -> None:
    """Uses a name with every kind of character that the pattern allows."""
    name = await trial.special_name(":A_b-C.9:z..--__::")
    expect_equal("name", namespace_of(await trial.put(name)).name, name)
    memory_id = await trial.written(name, "odd but fine")
    rows = await trial.found(name)
    expect_equal("namespace of the memory", [row.namespace for row in rows], [name])
    (await trial.forget(memory_id, name)).expect(204)
    (await trial.delete(name)).expect(204)


@check(
    "namespaces.bad-names",
    r"Namespace name: ^[a-z]+:[A-Za-z0-9_:.\-]+$; anything else: 400.",
)
async def bad_names(trial: Trial) -> None:
    """Sends invalid names, in the path of every endpoint and in bodies.

    Only PATCH and DELETE get names other than the harness's own, and only names that no plugin may
    have.
    """
    for suffix in ("%20", "!", "%C3%A9", "%00", "%0A", "%25"):
        name = trial.name() + suffix
        trial.own(name)
        (await trial.put(name)).expect_error(400, "bad_request")
        (await trial.write(name, "nowhere")).expect_error(400, "bad_request")
    for name in ("Custom:conformance", "conformance", ":conformance", "custom:", "cu5tom:x"):
        (await trial.patch(name, metadata={})).expect_error(400, "bad_request")
        (await trial.delete(name)).expect_error(400, "bad_request")
        (await trial.search(name)).expect_error(400, "bad_request")
