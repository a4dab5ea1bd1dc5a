"""Many callers at once: nothing lost, nothing duplicated, nothing mixed up."""

import asyncio
from collections import Counter

from contract import format_time
from harness.check import check
from harness.checks.namespaces import namespace_of
from harness.checks.ttl import soon
from harness.trial import Trial, expect, expect_equal

_WRITERS = 100
_EACH = 6


@check(
    "concurrency.hundred-writers",
    "A plugin never answers 2xx before the write is durable: 100 parallel writers without a lost"
    " or doubled row.",
)
async def hundred_writers(trial: Trial) -> None:
    """100 writers write six memories each, all at once: 600 rows, each once, each complete."""
    names = [await trial.namespace() for _ in range(_EACH)]

    async def writer(number: int) -> dict[str, str]:
        made = {}
        for name in names:
            content = f"writer {number} in {name}"
            made[await trial.written(name, content)] = content
        return made

    sent: dict[str, str] = {}
    for made in await asyncio.gather(*(writer(number) for number in range(_WRITERS))):
        sent |= made
    expect_equal("different ids", len(sent), _WRITERS * _EACH)
    found = [row for name in names for row in await trial.found(name, limit=100)]
    counts = Counter(str(row.id) for row in found)
    expect_equal("rows that came back more than once", [i for i in counts if counts[i] > 1], [])
    lost = [content for memory_id, content in sent.items() if memory_id not in counts]
    expect_equal("rows that were acknowledged and lost", lost, [])
    wrong = [row.content for row in found if sent.get(str(row.id)) != row.content]
    expect_equal("rows with the content of another", wrong, [])


@check("concurrency.put-at-once", "PUT is an upsert that creates or refreshes.")
async def put_at_once(trial: Trial) -> None:
    """Creates one namespace from 50 tasks at once: all succeed and see the same one."""
    name = trial.name()
    answers = await asyncio.gather(*(trial.put(name) for _ in range(50)))
    times = {namespace_of(answer).created_at for answer in answers}
    expect_equal("different created_at", len(times), 1)


@check("concurrency.forget-at-once", "Forget: 204; of an unknown id: 404.")
async def forget_at_once(trial: Trial) -> None:
    """Forgets one memory from 20 tasks at once: one succeeds, the others find nothing."""
    name = await trial.namespace()
    memory_id = await trial.written(name, "once")
    answers = await asyncio.gather(*(trial.forget(memory_id, name) for _ in range(20)))
    counts = Counter(answer.expect(204, 404).status for answer in answers)
    expect_equal("answers", dict(counts), {204: 1, 404: 19})


@check(
    "concurrency.patches-of-different-fields",
    "PATCH: a field that is absent leaves the stored value.",
    needs=["ttl"],
)
async def patches_of_different_fields(trial: Trial) -> None:
    """PATCHes metadata and expires_at of one namespace at once, ten times: neither is lost."""
    name = await trial.namespace()
    clock = await trial.clock()
    for number in range(10):
        until = soon(clock, 3600 + number)
        await asyncio.gather(
            trial.patch(name, metadata={"round": number}),
            trial.patch(name, expires_at=format_time(until)),
            trial.put(name),
        )
        stored = namespace_of(await trial.put(name))
        expect_equal("metadata", stored.metadata, {"round": number})
        expect_equal("expires_at", stored.expires_at, until)


@check("concurrency.delete-while-writing", "DELETE: memories gone too. Write: 201 or 404.")
async def delete_while_writing(trial: Trial) -> None:
    """Deletes a namespace while 30 writes are in flight: 201 or 404, and none survives."""
    name = await trial.namespace()
    writes = [trial.write(name, f"note {number}") for number in range(30)]
    answers = await asyncio.gather(*writes[:15], trial.delete(name), *writes[15:])
    for answer in answers:
        answer.expect(201, 204, 404)
    (await trial.put(name)).expect(200)
    expect_equal("memories of the new namespace", await trial.contents(name), [])


@check("concurrency.update-and-read", "The write replaces the whole memory in place.")
async def update_and_read(trial: Trial) -> None:
    """Reads one memory while it is updated 40 times: always one complete version."""
    name = await trial.namespace()
    memory_id = await trial.written(name, "version 0 version 0", id=trial.uuid())

    async def update() -> None:
        for number in range(1, 41):
            content = f"version {number} version {number}"
            await trial.written(name, content, id=memory_id)

    async def read() -> None:
        for _ in range(40):
            found = await trial.contents(name)
            expect_equal("memories", len(found), 1)
            middle = len(found[0]) // 2
            whole = found[0][:middle] == found[0][middle + 1 :]
            expect(whole, "one whole version", found)

    await asyncio.gather(update(), read(), read())
    expect_equal("last", await trial.contents(name), ["version 40 version 40"])
