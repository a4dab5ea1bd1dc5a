"""Forgetting one memory."""

from harness.check import check
from harness.trial import Trial, expect_equal


@check(
    "forget.removes-the-memory",
    "DELETE /v1/memories/{id} with the namespace it lives in: 204, and it is never returned again.",
)
async def removes_the_memory(trial: Trial) -> None:
    """Writes two memories, forgets one, and expects a search to return only the other."""
    name = await trial.namespace()
    gone = await trial.written(name, "to be forgotten")
    await trial.written(name, "to be kept")
    answer = (await trial.forget(gone, name)).expect(204)
    expect_equal("the body of a 204", answer.body, b"")
    expect_equal("what is left", await trial.contents(name), ["to be kept"])


@check("forget.unknown-id", "Forget of an unknown id: 404, and nothing is deleted.")
async def unknown_id(trial: Trial) -> None:
    """Forgets an unknown id, in a namespace with one memory."""
    name = await trial.namespace()
    await trial.written(name, "to be kept")
    (await trial.forget(trial.uuid(), name)).expect_error(404, "not_found")
    expect_equal("what is left", await trial.contents(name), ["to be kept"])


@check(
    "forget.of-another-namespace",
    "Forget of a memory that lives in another namespace: 403. Nothing is deleted.",
)
async def of_another_namespace(trial: Trial) -> None:
    """Forgets A's memory on behalf of B, and of a namespace that does not exist."""
    owner, other = await trial.namespace(), await trial.namespace()
    memory_id = await trial.written(owner, "mine")
    (await trial.forget(memory_id, other)).expect_error(403, "forbidden")
    (await trial.forget(memory_id, trial.name())).expect_error(403, "forbidden")
    expect_equal("memories of the owner", await trial.contents(owner), ["mine"])


@check("forget.twice", "Forget of an unknown id: 404.")
async def twice(trial: Trial) -> None:
    """Forgets one memory twice: 204, then 404."""
    name = await trial.namespace()
    memory_id = await trial.written(name, "once")
    (await trial.forget(memory_id, name)).expect(204)
    (await trial.forget(memory_id, name)).expect_error(404, "not_found")


@check("forget.bad-id", "A bad UUID: 400 with a message that names the field. Never 500.")
async def bad_id(trial: Trial) -> None:
    """Forgets ids that are not UUIDs."""
    name = await trial.namespace()
    for bad in ("1", "not-a-uuid", "%00", f"{trial.uuid()}0", "null"):
        (await trial.forget(bad, name)).expect_error(400, "bad_request")


@check("forget.needs-the-namespace", "ForgetRequest.requested_by_namespace: required.")
async def needs_the_namespace(trial: Trial) -> None:
    """Forgets without a body, without the field, with a wrong type and a bad name: 400."""
    name = await trial.namespace()
    memory_id = await trial.written(name, "still here")
    path = f"/v1/memories/{memory_id}"
    (await trial.send("DELETE", path)).expect_error(400, "bad_request")
    bad: list[object] = [{}, {"requested_by_namespace": None}, {"requested_by_namespace": 7}]
    for body in (*bad, {"requested_by_namespace": "no colon"}):
        (await trial.send("DELETE", path, body)).expect_error(400, "bad_request")
    expect_equal("memories", await trial.contents(name), ["still here"])


@check("forget.one-of-equals", "DELETE /v1/memories/{id} forgets that memory.")
async def one_of_equals(trial: Trial) -> None:
    """Forgets one of three memories with the same content: the other two stay."""
    name = await trial.namespace()
    ids = [await trial.written(name, "same words") for _ in range(3)]
    (await trial.forget(ids[1], name)).expect(204)
    left = {str(row.id) for row in await trial.found(name)}
    expect_equal("ids left", left, {ids[0], ids[2]})


@check("forget.case-of-the-id", "id: UUID.", level="should")
async def case_of_the_id(trial: Trial) -> None:
    """Forgets by the id in upper case: the same UUID."""
    name = await trial.namespace()
    memory_id = await trial.written(name, "x")
    (await trial.forget(memory_id.upper(), name)).expect(204)
    expect_equal("memories", await trial.contents(name), [])
