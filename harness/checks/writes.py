"""Writing memories, and getting back what was written."""

from itertools import product
from uuid import UUID

from harness.check import check
from harness.trial import Trial, expect, expect_equal


@check(
    "writes.answers-id-and-namespace",
    "POST /v1/namespaces/{name}/memories: 201 MemoryWriteResponse, id and namespace.",
)
async def answers_id_and_namespace(trial: Trial) -> None:
    """Writes one memory without an id: the plugin generates a UUID, and search returns it."""
    name = await trial.namespace()
    body = (await trial.write(name, "one")).expect(201).object
    expect_equal("namespace", body.get("namespace"), name)
    try:
        made = UUID(str(body.get("id")))
    except ValueError:
        expect(False, "id to be a UUID", body.get("id"))
        return
    expect_equal("ids found", [row.id for row in await trial.found(name)], [made])


@check("writes.makes-a-fresh-id", "id omitted: generate a fresh UUID, return it in the response.")
async def makes_a_fresh_id(trial: Trial) -> None:
    """Writes the same content three times without an id: three memories."""
    name = await trial.namespace()
    ids = [await trial.written(name, "same words") for _ in range(3)]
    expect_equal("different ids", len(set(ids)), 3)
    expect_equal("memories found", len(await trial.found(name)), 3)


@check("writes.null-id-is-no-id", "id: optional; omitted or unset, the plugin makes one.")
async def null_id_is_no_id(trial: Trial) -> None:
    """Writes twice with `id: null`, like clients that always send all fields."""
    name = await trial.namespace()
    ids = [await trial.written(name, "same words", id=None) for _ in range(2)]
    expect_equal("different ids", len(set(ids)), 2)
    expect_equal("memories found", len(await trial.found(name)), 2)


@check(
    "writes.unknown-namespace",
    "Write to a namespace that was never PUT: 404 not_found, never 500.",
)
async def unknown_namespace(trial: Trial) -> None:
    """Writes into an unknown namespace, then creates it: the write must not have been kept."""
    name = trial.name()
    (await trial.write(name, "too early")).expect_error(404, "not_found")
    (await trial.write(name, "too early", id=trial.uuid())).expect_error(404, "not_found")
    (await trial.put(name)).expect(200)
    expect_equal("memories in the new namespace", await trial.contents(name), [])


@check(
    "writes.keeps-kind-and-source",
    "kind: fact, summary, checkpoint; source: agent, runtime, user.",
)
async def keeps_kind_and_source(trial: Trial) -> None:
    """Writes all nine combinations and expects each back."""
    name = await trial.namespace()
    sent = set(product(("fact", "summary", "checkpoint"), ("agent", "runtime", "user")))
    for kind, source in sorted(sent):
        await trial.written(name, f"{kind} of {source}", kind=kind, source=source)
    rows = await trial.found(name)
    expect_equal(
        "content of each row",
        sorted(row.content for row in rows),
        sorted(f"{k} of {s}" for k, s in sent),
    )
    expect_equal(
        "kind and source of each row",
        [f"{row.kind} of {row.source}" for row in rows],
        [row.content for row in rows],
    )


@check("writes.times-are-utc", "Times are RFC 3339 with an offset, answered in UTC (Z).")
async def times_are_utc(trial: Trial) -> None:
    """Checks created_at of a namespace and of a memory as sent."""
    name = trial.name()
    made = (await trial.put(name)).expect(200).object.get("created_at")
    await trial.written(name, "when?")
    row = await trial.one_as_sent(name)
    for time in (made, row.get("created_at")):
        expect(str(time).endswith("Z"), "a time in UTC that ends in Z", time)


@check("writes.created-at-is-now", "created_at: when the memory was made.")
async def created_at_is_now(trial: Trial) -> None:
    """Writes before and after a pause: the times differ by the pause."""
    name = trial.name()
    await trial.put(name)
    first = await trial.written(name, "first")
    await trial.sleep(1.2)
    second = await trial.written(name, "second")
    times = {str(row.id): row.created_at for row in await trial.found(name)}
    expect({first, second} <= times.keys(), "both memories", list(times))
    apart = (times[second] - times[first]).total_seconds()
    # A plugin may truncate its times to the second; the upper bound only catches a wrong unit.
    expect(0.15 < apart < 120, "created_at about 1.2 s apart", f"{apart:.3f} s")


@check(
    "writes.content-is-required",
    "MemoryWrite.content: required, a string, not blank.",
)
async def content_is_required(trial: Trial) -> None:
    """Sends no content, empty and blank content: 400, and nothing is written."""
    name = await trial.namespace()
    path = f"/v1/namespaces/{name}/memories"
    answer = await trial.send("POST", path, {"kind": "fact", "source": "agent"})
    answer.expect_error(400, "bad_request")
    for content in ("", " ", "\n\t  \r\n"):
        (await trial.write(name, content)).expect_error(400, "bad_request")
    expect_equal("memories", await trial.contents(name), [])


@check("writes.unset-is-unset", "Optional fields that are unset are left out or sent as null.")
async def unset_is_unset(trial: Trial) -> None:
    """Writes without optional fields: none comes back as a zero time, empty text or list."""
    name = await trial.namespace(kind="custom")
    await trial.written(name, "plain")
    row = await trial.one_as_sent(name)
    for field in ("expires_at", "propagation"):
        expect(row.get(field) is None, f"{field} left out or null", row.get(field))
    expect(row.get("pin") in (None, False), "pin left out, null or false", row.get("pin"))
    stored = (await trial.put(name)).expect(200).object
    for field in ("expires_at", "metadata"):
        expect(stored.get(field) is None, f"{field} left out or null", stored.get(field))
