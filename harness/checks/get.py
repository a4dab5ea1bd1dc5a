"""The extension `get`: one memory by its id."""

from typing import Any

from contract import Memory, MemoryPluginError, parse
from harness.check import check
from harness.errors import Failure
from harness.exchange import Exchange
from harness.trial import Trial, expect_equal

_NEEDS = ["get"]
_GET = (
    "get: GET /v1/memories/{id}?namespace=… answers 200 Memory; 400 bad UUID, missing or bad name;"
    " 404 unknown or expired, or its namespace is; 403 it lives in another namespace."
)


def memory_of(answer: Exchange) -> Memory:
    """The memory in the answer; Failure unless it is one."""
    answer.expect(200)
    try:
        return parse(Memory, answer.body)
    except MemoryPluginError as error:
        raise Failure(f"a Memory ({error})", answer.shown) from None


@check("get.is-what-search-returns", _GET, needs=_NEEDS)
async def is_what_search_returns(trial: Trial) -> None:
    """Reads a memory with every field that the plugin supports, after a write and an update."""
    name = await trial.namespace()
    fields: dict[str, Any] = {"kind": "summary", "source": "user"}
    if trial.claims("pin"):
        fields["pin"] = True
    if trial.claims("propagation"):
        fields["propagation"] = {"a": [None, {"b": 1}]}
    if trial.claims("ttl"):
        fields["expires_at"] = "2999-12-31T00:00:00Z"
    memory_id = await trial.written(name, "all of it", **fields)
    await trial.written(name, "another")
    for content in ("all of it", "changed"):
        if content == "changed":
            await trial.written(name, content, id=memory_id)
        (row,) = [row for row in await trial.found(name) if str(row.id) == memory_id]
        got = memory_of(await trial.get(memory_id, name))
        expect_equal("content", got.content, content)
        expect_equal("fields", got.model_dump(exclude={"score"}), row.model_dump(exclude={"score"}))
    upper = memory_of(await trial.get(memory_id.upper(), name))
    expect_equal("content by the id in upper case", upper.content, "changed")


@check("get.unknown", _GET, needs=_NEEDS)
async def unknown(trial: Trial) -> None:
    """404 for an unknown id, and for one that was forgotten."""
    name = await trial.namespace()
    (await trial.get(trial.uuid(), name)).expect_error(404, "not_found")
    memory_id = await trial.written(name, "soon forgotten")
    memory_of(await trial.get(memory_id, name))
    (await trial.forget(memory_id, name)).expect(204)
    (await trial.get(memory_id, name)).expect_error(404, "not_found")


@check("get.of-another-namespace", _GET, needs=_NEEDS)
async def of_another_namespace(trial: Trial) -> None:
    """403 if the memory is in another namespace, whether the named one exists or not."""
    here, there = await trial.namespace(), await trial.namespace()
    memory_id = await trial.written(here, "mine")
    (await trial.get(memory_id, there)).expect_error(403, "forbidden")
    (await trial.get(memory_id, trial.name())).expect_error(403, "forbidden")
    expect_equal("content", memory_of(await trial.get(memory_id, here)).content, "mine")


@check("get.expired", _GET, needs=["get", "ttl"])
async def expired(trial: Trial) -> None:
    """404 for a memory that has expired, and for one whose namespace has."""
    past = "2001-01-01T00:00:00Z"
    name = await trial.namespace()
    memory_id = trial.uuid()
    (await trial.write(name, "stale", id=memory_id, expires_at=past)).expect(201)
    (await trial.get(memory_id, name)).expect_error(404, "not_found")
    fresh = await trial.written(name, "fresh")
    (await trial.patch(name, expires_at=past)).expect(200)
    (await trial.get(fresh, name)).expect_error(404, "not_found")


@check("get.bad-requests", _GET, needs=_NEEDS)
async def bad_requests(trial: Trial) -> None:
    """400 for a bad UUID, and for a namespace that is missing, empty or malformed."""
    name = await trial.namespace()
    memory_id = await trial.written(name, "one")
    path = f"/v1/memories/{memory_id}"
    for bad in (
        f"/v1/memories/1?namespace={name}",
        f"/v1/memories/{memory_id}0?namespace={name}",
        path,
        f"{path}?namespace=",
        f"{path}?namespace=no-name",
        f"{path}?namespace=a:b%20c",
        f"{path}?name={name}",
    ):
        (await trial.send("GET", bad)).expect_error(400, "bad_request")
