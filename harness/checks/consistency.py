"""Acknowledged writes are visible to the very next reader."""

from harness.check import check
from harness.checks.embedding import at_angle
from harness.trial import Trial, expect_equal

_READ = (
    "A plugin never answers 2xx before the write is durable, and never answers a read from before"
    " a write that it has acknowledged."
)


@check("consistency.read-your-writes", _READ)
async def read_your_writes(trial: Trial) -> None:
    """Writes and searches 20 times without a pause: each search has every write before it."""
    name = await trial.namespace()
    for number in range(20):
        await trial.written(name, f"note {number}")
        found = await trial.contents(name, limit=100)
        expect_equal("memories found", len(found), number + 1)


@check("consistency.read-your-updates", _READ)
async def read_your_updates(trial: Trial) -> None:
    """Updates one memory ten times and reads after each."""
    name = await trial.namespace()
    memory_id = trial.uuid()
    for number in range(10):
        await trial.written(name, f"version {number}", id=memory_id)
        expect_equal("found", await trial.contents(name), [f"version {number}"])


@check("consistency.read-your-forgets", _READ)
async def read_your_forgets(trial: Trial) -> None:
    """Forgets ten memories one by one and reads after each."""
    name = await trial.namespace()
    ids = await trial.fill(name, [f"note {number}" for number in range(10)])
    for number, memory_id in enumerate(ids, start=1):
        (await trial.forget(memory_id, name)).expect(204)
        expect_equal("memories left", len(await trial.contents(name)), 10 - number)


@check("consistency.write-right-after-put", _READ)
async def write_right_after_put(trial: Trial) -> None:
    """Creates ten namespaces and writes into each right away: never a 404."""
    for _ in range(10):
        name = await trial.namespace()
        await trial.written(name, "first thing")


@check("consistency.delete-right-away", _READ)
async def delete_right_away(trial: Trial) -> None:
    """Writes, deletes the namespace and creates it again, five times without a pause."""
    name = await trial.namespace()
    for number in range(5):
        await trial.written(name, f"life {number}")
        expect_equal("memories", await trial.contents(name), [f"life {number}"])
        (await trial.delete(name)).expect(204)
        (await trial.put(name)).expect(200)
        expect_equal("memories", await trial.contents(name), [])


@check("consistency.in-text-search", _READ, needs=["fts"])
async def in_text_search(trial: Trial) -> None:
    """Writes and searches by words ten times: an index must not lag behind."""
    name = await trial.namespace()
    for number in range(10):
        await trial.written(name, f"walrus {number}")
        expect_equal("found", len(await trial.contents(name, query="walrus")), number + 1)


@check("consistency.in-embedding-search", _READ, needs=["embedding"])
async def in_embedding_search(trial: Trial) -> None:
    """Writes and searches by meaning ten times: an index must not lag behind."""
    name = await trial.namespace()
    for number in range(10):
        await trial.written(name, f"at {number}", embedding=at_angle(90 - number))
        found = await trial.contents(name, embedding=at_angle(0))
        expect_equal("found", (len(found), found[:1]), (number + 1, [f"at {number}"]))
