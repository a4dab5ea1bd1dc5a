"""The first check of every run: the harness must be able to delete what it creates."""

from harness.check import check
from harness.trial import Trial, expect


@check(
    "safety.deletes-what-it-made",
    "DELETE /v1/namespaces/{name}: 204, memories gone too.",
)
async def deletes_what_it_made(trial: Trial) -> None:
    """Creates a namespace with one memory and deletes it again.

    If this fails, nothing else is run: the harness must not leave anything behind in a plugin that
    may be in use. A plugin that has no endpoint for memories yet is tested with an empty namespace,
    and gets no memory from any other check either.
    """
    name = await trial.namespace()
    written = (await trial.write(name, "the harness was here")).expect(201, 404, 405)
    (await trial.delete(name)).expect(204)
    if written.status != 201:
        (await trial.delete(name)).expect(404)
        trial.write_no_memories(written)
        return
    # How exactly a search answers if there is nothing is tested by other checks.
    answer = (await trial.search(name)).expect(200, 404)
    left = answer.status == 200 and answer.object.get("memories")
    expect(not left, "no memories after the delete", answer.shown)
