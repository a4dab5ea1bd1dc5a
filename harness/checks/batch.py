"""The extension `batch`: many writes in one request, each with its own result."""

from datetime import UTC, datetime
from typing import Any

from contract import BatchResponse, MemoryPluginError, MemoryWriteResponse, parse
from harness.check import check
from harness.errors import Failure
from harness.exchange import Exchange
from harness.trial import Trial, expect, expect_equal, memory

_NEEDS = ["batch"]
_ORDER = "batch: an answer per write in order (the id, or an Error); same length, same order."
_ALONE = "batch: one bad write does not fail the others."


def write_to(name: str, content: str, **fields: Any) -> dict[str, Any]:
    """One item of a batch."""
    return {"namespace": name, **memory(content, fields)}


def results_of(answer: Exchange) -> list[str]:
    """The id of each write that succeeded, the error code of each that failed."""
    answer.expect(200)
    try:
        results = parse(BatchResponse, answer.body).results
    except MemoryPluginError as error:
        raise Failure(f"a BatchResponse ({error})", answer.shown) from None
    return [
        str(result.id) if isinstance(result, MemoryWriteResponse) else result.error.code
        for result in results
    ]


@check("batch.writes-all", "batch: up to 1,000 writes, each with its namespace.", needs=_NEEDS)
async def writes_all(trial: Trial) -> None:
    """Writes into two namespaces in one request: every memory is in its own, complete."""
    names = [await trial.namespace(), await trial.namespace()]
    writes = [
        write_to(names[number % 2], f"note {number}", kind="summary", source="user")
        for number in range(40)
    ]
    answer = await trial.batch(writes)
    ids = results_of(answer)
    expect_equal("different ids", len(set(ids)), 40)
    expect_equal(
        "namespaces of the results",
        [result.get("namespace") for result in answer.object["results"]],
        [write["namespace"] for write in writes],
    )
    rows = await trial.found(*names, limit=100)
    expect_equal(
        "rows",
        {(str(row.id), row.namespace, row.content, row.kind, row.source) for row in rows},
        {
            (memory_id, write["namespace"], write["content"], "summary", "user")
            for memory_id, write in zip(ids, writes, strict=True)
        },
    )


@check("batch.answers-in-order", _ORDER, needs=_NEEDS)
async def answers_in_order(trial: Trial) -> None:
    """Sends 60 writes with ids to three namespaces, in random order."""
    names = [await trial.namespace() for _ in range(3)]
    ids = [trial.uuid() for _ in range(60)]
    writes = [
        write_to(trial.random.choice(names), f"note {number}", id=memory_id)
        for number, memory_id in enumerate(ids)
    ]
    expect_equal("ids in order", results_of(await trial.batch(writes)), ids)
    rows = {str(row.id): row.content for row in await trial.found(*names, limit=100)}
    sent = {memory_id: f"note {number}" for number, memory_id in enumerate(ids)}
    expect_equal("rows", rows, sent)


@check("batch.one-bad-write", _ALONE, needs=_NEEDS)
async def one_bad_write(trial: Trial) -> None:
    """Mixes good writes with all kinds of bad ones: each bad one gets its error, in its place."""
    name, other = await trial.namespace(), await trial.namespace()
    foreign = await trial.written(other, "theirs", id=trial.uuid())
    good = [trial.uuid() for _ in range(3)]
    answer = await trial.batch(
        [
            write_to(name, "good 0", id=good[0]),
            write_to(name, " "),
            write_to(trial.name(), "nowhere"),
            write_to(name, "good 1", id=good[1]),
            write_to(name, "stolen", id=foreign),
            write_to(name, "x", kind="opinion"),
            write_to(name, "x", id="not-a-uuid"),
            {"namespace": name},
            write_to("no colon", "x"),
            write_to(name, "nul \x00"),
            write_to(name, "good 2", id=good[2]),
        ]
    )
    bad = "bad_request"
    expect_equal(
        "results",
        results_of(answer),
        [good[0], bad, "not_found", good[1], "forbidden", bad, bad, bad, bad, bad, good[2]],
    )
    found = await trial.contents(name, other)
    expect_equal("memories", sorted(found), ["good 0", "good 1", "good 2", "theirs"])


@check("batch.a-thousand", "batch: up to 1,000 writes.", needs=_NEEDS)
async def a_thousand(trial: Trial) -> None:
    """Sends 1,000 writes in one request, and 1,001 in another, which is refused."""
    names = [await trial.namespace() for _ in range(10)]
    writes = [write_to(names[number // 100], f"note {number}") for number in range(1000)]
    expect_equal("different ids", len(set(results_of(await trial.batch(writes)))), 1000)
    for number, name in enumerate(names):
        found = await trial.contents(name, limit=100)
        wanted = [f"note {100 * number + place}" for place in range(100)]
        expect_equal(f"memories of namespace {number}", sorted(found), sorted(wanted))
    writes.append(write_to(names[0], "one too many"))
    (await trial.batch(writes)).expect_error(400, "bad_request")
    found = await trial.contents(names[0], limit=100)
    expect("one too many" not in found, "nothing of a refused batch", found[:3])


@check("batch.malformed", "batch: a malformed request as a whole gets 400.", needs=_NEEDS)
async def malformed(trial: Trial) -> None:
    """Sends no writes, an empty list, an object instead of a list, and a body that is not JSON."""
    for raw in (b"{}", b'{"writes": []}', b'{"writes": {}}', b'{"writes": null}', b"[]", b"{"):
        answer = await trial.send("POST", "/v1/memories/batch", raw=raw)
        answer.expect_error(400, "bad_request")


@check("batch.is-idempotent", "id known in the same namespace: replaced in place.", needs=_NEEDS)
async def is_idempotent(trial: Trial) -> None:
    """Sends the same batch twice, as an interrupted backfill does: no row is duplicated."""
    name = await trial.namespace()
    writes = [write_to(name, f"note {number}", id=trial.uuid()) for number in range(50)]
    first = results_of(await trial.batch(writes))
    rows = sorted((str(row.id), row.created_at) for row in await trial.found(name, limit=100))
    expect_equal("rows", len(rows), 50)
    expect_equal("the same ids", results_of(await trial.batch(writes)), first)
    again = sorted((str(row.id), row.created_at) for row in await trial.found(name, limit=100))
    expect_equal("rows and their created_at", again, rows)


@check("batch.keeps-created-at", "batch: a write may carry created_at.", needs=_NEEDS)
async def keeps_created_at(trial: Trial) -> None:
    """Writes memories from other years: they keep their time, and are sorted by it."""
    name = await trial.namespace()
    years = [2019, 2021, 2020]
    await trial.written(name, "now")
    writes = [
        write_to(name, str(year), created_at=f"{year}-05-04T03:02:01.123456Z") for year in years
    ]
    results_of(await trial.batch(writes))
    rows = await trial.found(name)
    expect_equal("order", [row.content for row in rows], ["now", "2021", "2020", "2019"])
    expect_equal(
        "created_at",
        [row.created_at for row in rows[1:]],
        [datetime(year, 5, 4, 3, 2, 1, 123456, UTC) for year in (2021, 2020, 2019)],
    )


@check(
    "batch.created-at-of-the-known", "id known: replaced in place, same created_at.", needs=_NEEDS
)
async def created_at_of_the_known(trial: Trial) -> None:
    """Writes a known id again with another created_at: the memory keeps its own."""
    name = await trial.namespace()
    memory_id = await trial.written(name, "before", id=trial.uuid())
    made = (await trial.one(name)).created_at
    write = write_to(name, "after", id=memory_id, created_at="2019-01-01T00:00:00Z")
    expect_equal("results", results_of(await trial.batch([write])), [memory_id])
    rows = await trial.found(name)
    expect_equal("rows", [(row.content, row.created_at) for row in rows], [("after", made)])


@check("batch.same-id-twice", "id: the idempotency key.", needs=_NEEDS)
async def same_id_twice(trial: Trial) -> None:
    """Sends one id twice in a batch: both succeed, and one row is left, with the last content."""
    name = await trial.namespace()
    memory_id = trial.uuid()
    writes = [write_to(name, content, id=memory_id) for content in ("first", "second")]
    expect_equal("results", results_of(await trial.batch(writes)), [memory_id, memory_id])
    expect_equal("memories", await trial.contents(name), ["second"])


@check("batch.carries-every-field", "batch: MemoryWrites.", needs=["batch", "pin", "propagation"])
async def carries_every_field(trial: Trial) -> None:
    """Writes pin and propagation by batch and reads them back."""
    name = await trial.namespace()
    sent = {"to": None, "n": 9007199254740993}
    results_of(await trial.batch([write_to(name, "x", pin=True, propagation=sent)]))
    rows = await trial.found(name)
    expect_equal("rows", [(row.pin, row.propagation) for row in rows], [(True, sent)])


@check(
    "batch.does-not-keep-expired", "Expired memories are never returned.", needs=["batch", "ttl"]
)
async def does_not_keep_expired(trial: Trial) -> None:
    """Writes an expired memory and a live one by batch."""
    name = await trial.namespace()
    stale = write_to(name, "stale", expires_at="2001-01-01T00:00:00Z")
    results_of(await trial.batch([stale, write_to(name, "live")]))
    expect_equal("found", await trial.contents(name), ["live"])
