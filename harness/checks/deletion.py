"""Deleting a namespace deletes its memories, and nothing else."""

from harness.check import check
from harness.checks.namespaces import namespace_of
from harness.trial import Trial, expect_equal

_CASCADE = "DELETE /v1/namespaces/{name}: 204, memories gone too."


@check("deletion.takes-the-memories", _CASCADE)
async def takes_the_memories(trial: Trial) -> None:
    """Deletes a namespace and creates it again: it is empty, without metadata."""
    name = await trial.namespace(metadata={"old": True})
    await trial.fill(name, [f"note {number}" for number in range(10)])
    answer = (await trial.delete(name)).expect(204)
    expect_equal("the body of a 204", answer.body, b"")
    expect_equal("memories", await trial.contents(name), [])
    anew = namespace_of(await trial.put(name))
    expect_equal("metadata of the new one", anew.metadata, None)
    expect_equal("memories of the new one", await trial.contents(name), [])


@check("deletion.frees-the-ids", _CASCADE)
async def frees_the_ids(trial: Trial) -> None:
    """After the delete its memories cannot be forgotten, and their ids are free for others."""
    name, other = await trial.namespace(), await trial.namespace()
    memory_id = await trial.written(name, "first life", id=trial.uuid())
    (await trial.delete(name)).expect(204)
    (await trial.forget(memory_id, name)).expect_error(404, "not_found")
    await trial.written(other, "second life", id=memory_id)
    expect_equal("memories", await trial.contents(other), ["second life"])


@check("deletion.no-write-afterwards", "Write to a namespace that does not exist: 404 not_found.")
async def no_write_afterwards(trial: Trial) -> None:
    """Writes into a namespace that was deleted, and PATCHes it."""
    name = await trial.namespace()
    (await trial.delete(name)).expect(204)
    (await trial.write(name, "too late")).expect_error(404, "not_found")
    (await trial.patch(name, metadata={})).expect_error(404, "not_found")


@check("deletion.leaves-the-neighbours", "DELETE /v1/namespaces/{name} removes that namespace.")
async def leaves_the_neighbours(trial: Trial) -> None:
    """Deletes a namespace whose name is a prefix of another's, and one that is a pattern of it."""
    longer = await trial.special_name(":sub")
    name = longer.removesuffix(":sub")
    trial.own(name)
    digit = await trial.special_name("_a")
    letter = digit.removesuffix("_a") + "Xa"
    trial.own(letter)
    for made in (name, longer, digit, letter):
        (await trial.put(made, metadata={"keep": 1})).expect(200)
        await trial.written(made, f"in {made}")
    (await trial.delete(name)).expect(204)
    (await trial.delete(digit)).expect(204)
    found = await trial.contents(name, longer, digit, letter)
    expect_equal("memories left", sorted(found), sorted([f"in {longer}", f"in {letter}"]))
    expect_equal("metadata", namespace_of(await trial.put(longer)).metadata, {"keep": 1})
