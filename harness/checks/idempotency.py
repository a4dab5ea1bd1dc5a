"""`MemoryWrite.id` is the idempotency key: a repeated write is one memory."""

import asyncio
from datetime import timedelta
from typing import Any

from contract import format_time
from harness.check import check
from harness.trial import Trial, expect, expect_equal

_IN_PLACE = (
    "id supplied and known in the same namespace: the write replaces the whole memory in place,"
    " one row, same created_at."
)
_FOREIGN = (
    "id known in another namespace: 403 forbidden and nothing changes; a write must not move or"
    " destroy a row that the caller's namespace does not own."
)


@check("idempotency.answers-the-given-id", "id set: upsert keyed on this id.")
async def answers_the_given_id(trial: Trial) -> None:
    """Writes with an id and expects that id, in the answer and in a search."""
    name = await trial.namespace()
    memory_id = trial.uuid()
    expect_equal("id", await trial.written(name, "mine", id=memory_id), memory_id)
    expect_equal("ids found", [str(row.id) for row in await trial.found(name)], [memory_id])


@check("idempotency.same-id-updates-in-place", _IN_PLACE)
async def same_id_updates_in_place(trial: Trial) -> None:
    """Writes twice with one id: one row with the second content, kind and source."""
    name = await trial.namespace()
    memory_id = trial.uuid()
    await trial.written(name, "before", id=memory_id, kind="fact", source="agent")
    await trial.written(name, "after", id=memory_id, kind="summary", source="user")
    rows = await trial.found(name)
    expect_equal(
        "rows",
        [(str(row.id), row.content, row.kind, row.source) for row in rows],
        [(memory_id, "after", "summary", "user")],
    )


@check("idempotency.keeps-created-at", _IN_PLACE)
async def keeps_created_at(trial: Trial) -> None:
    """Writes with one id, waits more than a second, writes again: created_at stays the first."""
    name = await trial.namespace()
    memory_id = trial.uuid()
    await trial.written(name, "before", id=memory_id)
    first = await trial.one(name)
    await trial.sleep(1.1)
    await trial.written(name, "after", id=memory_id)
    again = await trial.one(name)
    expect_equal("content", again.content, "after")
    expect_equal("created_at", again.created_at, first.created_at)


@check(
    "idempotency.replaces-the-whole-memory",
    "The write replaces the whole memory in place: an absent optional field becomes unset.",
)
async def replaces_the_whole_memory(trial: Trial) -> None:
    """Writes with every optional field that the plugin claims, then without them."""
    name = await trial.namespace()
    later = format_time((await trial.clock()).now() + timedelta(hours=1))
    offered: dict[str, tuple[str, Any]] = {
        "pin": ("pin", True),
        "propagation": ("propagation", {"a": 1}),
        "ttl": ("expires_at", later),
    }
    fields = dict(pair for claim, pair in offered.items() if trial.claims(claim))
    memory_id = trial.uuid()
    await trial.written(name, "with everything", id=memory_id, **fields)
    await trial.written(name, "bare", id=memory_id)
    row = await trial.one(name)
    expect_equal("content", row.content, "bare")
    expect(not row.pin, "pin to be unset", row.pin)
    expect(row.propagation is None, "propagation to be unset", row.propagation)
    expect(row.expires_at is None, "expires_at to be unset", row.expires_at)


@check("idempotency.ten-times", _IN_PLACE)
async def ten_times(trial: Trial) -> None:
    """Sends the same write ten times, as a caller on a bad network does: one row."""
    name = await trial.namespace()
    memory_id = trial.uuid()
    for _ in range(10):
        await trial.written(name, "once is enough", id=memory_id)
    expect_equal("rows", await trial.contents(name), ["once is enough"])


@check("idempotency.hundred-at-once", _IN_PLACE)
async def hundred_at_once(trial: Trial) -> None:
    """Sends 100 writes with one id at the same time: all succeed, and one row is left."""
    name = await trial.namespace()
    memory_id = trial.uuid()
    answers = await asyncio.gather(
        *(trial.write(name, f"version {number}", id=memory_id) for number in range(100))
    )
    for answer in answers:
        answer.expect(201)
    rows = await trial.found(name, limit=100)
    expect_equal("ids found", [str(row.id) for row in rows], [memory_id])
    versions = {f"version {number}" for number in range(100)}
    expect(rows[0].content in versions, "one of the contents that were written", rows[0].content)
    await trial.written(name, "the last word", id=memory_id)
    expect_equal("rows", await trial.contents(name), ["the last word"])


@check("idempotency.id-of-another-namespace", _FOREIGN)
async def id_of_another_namespace(trial: Trial) -> None:
    """Writes into B with the id of a memory in A: 403, A keeps its memory, B gets none."""
    owner, other = await trial.namespace(), await trial.namespace()
    memory_id = await trial.written(owner, "mine", id=trial.uuid())
    (await trial.write(other, "stolen", id=memory_id)).expect_error(403, "forbidden")
    expect_equal("memories of the owner", await trial.contents(owner), ["mine"])
    expect_equal("memories of the other", await trial.contents(other), [])


@check("idempotency.id-made-by-the-plugin", f"{_IN_PLACE} {_FOREIGN[0].upper()}{_FOREIGN[1:]}")
async def id_made_by_the_plugin(trial: Trial) -> None:
    """Updates a memory by the id that the plugin generated; B may not use that id either."""
    name, other = await trial.namespace(), await trial.namespace()
    memory_id = await trial.written(name, "before")
    await trial.written(name, "after", id=memory_id)
    expect_equal("rows", await trial.contents(name), ["after"])
    (await trial.write(other, "stolen", id=memory_id)).expect_error(403, "forbidden")
    expect_equal("rows", await trial.contents(name), ["after"])


@check("idempotency.case-of-the-id", "id: UUID; the idempotency key.", level="should")
async def case_of_the_id(trial: Trial) -> None:
    """Writes with an id in lower and in upper case: a UUID is the same in both."""
    name = await trial.namespace()
    memory_id = trial.uuid()
    await trial.written(name, "lower", id=memory_id)
    await trial.written(name, "upper", id=memory_id.upper())
    expect_equal("rows", await trial.contents(name), ["upper"])
    (await trial.forget(memory_id.upper(), name)).expect(204)


@check("idempotency.forgotten-id-is-free", "A forgotten memory is gone: its id is unknown again.")
async def forgotten_id_is_free(trial: Trial) -> None:
    """Forgets a memory and writes with its id again, into another namespace."""
    name, other = await trial.namespace(), await trial.namespace()
    memory_id = await trial.written(name, "first life", id=trial.uuid())
    (await trial.forget(memory_id, name)).expect(204)
    await trial.written(other, "second life", id=memory_id)
    expect_equal("memories of the first", await trial.contents(name), [])
    expect_equal("memories of the second", await trial.contents(other), ["second life"])
