"""Forgetting one memory."""

from harness.check import check
from harness.trial import Trial, expect_equal


@check(
    "forget.removes-the-memory",
    "DELETE /v1/memories/{id} with the namespace it lives in: 204, and it is never returned again.",
)
async def removes_the_memory(trial: Trial) -> None:
    """Writes two memories, forgets one, and expects a search to return the other only."""
    name = await trial.namespace()
    gone = await trial.written(name, "to be forgotten")
    await trial.written(name, "to be kept")
    answer = (await trial.forget(gone, name)).expect(204)
    expect_equal("the body of a 204", answer.body, b"")
    expect_equal("what is left", await trial.contents(name), ["to be kept"])


@check("forget.unknown-id", "Forget of an unknown id: 404, and nothing is deleted.")
async def unknown_id(trial: Trial) -> None:
    """Forgets an id that nobody has, in a namespace with one memory."""
    name = await trial.namespace()
    await trial.written(name, "to be kept")
    (await trial.forget(trial.uuid(), name)).expect_error(404, "not_found")
    expect_equal("what is left", await trial.contents(name), ["to be kept"])
