"""Pinned memories come first; among which others depends on the search."""

from harness.check import check
from harness.checks.embedding import at_angle
from harness.trial import Trial, expect, expect_equal

_AMONG_ALL = "pin: pinned rows come first. Newest-first and text search: among all that match."
_AMONG_BEST = (
    "pin: in embedding and hybrid search, among the best limit rows, so that pins cannot push"
    " relevance out altogether."
)


@check("pin.is-returned", "pin: optional boolean, default false.", needs=["pin"])
async def is_returned(trial: Trial) -> None:
    """Writes with pin true, false and absent, and reads it back."""
    name = await trial.namespace()
    await trial.written(name, "true", pin=True)
    await trial.written(name, "false", pin=False)
    await trial.written(name, "absent")
    pins = {row.content: bool(row.pin) for row in await trial.found(name)}
    expect_equal("pin", pins, {"true": True, "false": False, "absent": False})


@check("pin.first-among-newest", _AMONG_ALL, needs=["pin"])
async def first_among_newest(trial: Trial) -> None:
    """Pins the oldest of many memories: it comes first, even with a small limit."""
    name = await trial.namespace()
    await trial.written(name, "pinned", pin=True)
    await trial.fill(name, [f"plain {number}" for number in range(25)])
    for limit in (1, 3, 100):
        found = await trial.contents(name, limit=limit)
        expect_equal("first", found[:1], ["pinned"])
        expect_equal("memories", len(found), min(limit, 26))


@check("pin.order-among-pins", _AMONG_ALL, needs=["pin"])
async def order_among_pins(trial: Trial) -> None:
    """Pins two of four memories written more than a second apart: newest first in each half."""
    name = await trial.namespace()
    for number, pin in enumerate((True, False, True, False)):
        if number:
            await trial.sleep(1.1)
        await trial.written(name, f"number {number}", pin=pin)
    expect_equal(
        "order", await trial.contents(name), ["number 2", "number 0", "number 3", "number 1"]
    )


@check("pin.across-namespaces", _AMONG_ALL, needs=["pin"])
async def across_namespaces(trial: Trial) -> None:
    """A pinned memory of one namespace comes before newer ones of another."""
    first, second = await trial.namespace(), await trial.namespace()
    await trial.written(first, "pinned", pin=True)
    await trial.fill(second, [f"plain {number}" for number in range(5)])
    found = await trial.contents(second, first, limit=2)
    expect_equal("first", found[:1], ["pinned"])


@check("pin.unpinned-by-a-write", "The write replaces the whole memory in place.", needs=["pin"])
async def unpinned_by_a_write(trial: Trial) -> None:
    """Writes a pinned memory again without the pin: it is back in its place by time."""
    name = await trial.namespace()
    memory_id = await trial.written(name, "old", pin=True, id=trial.uuid())
    await trial.sleep(1.1)
    await trial.written(name, "new")
    await trial.written(name, "old", id=memory_id)
    expect_equal("order", await trial.contents(name), ["new", "old"])


@check("pin.first-in-text-search", _AMONG_ALL, needs=["pin", "fts"])
async def first_in_text_search(trial: Trial) -> None:
    """Pins the weakest and oldest of 25 matches: it comes first, but not for a word it lacks."""
    name = await trial.namespace()
    filler = " ".join(f"topic{number}" for number in range(30))
    await trial.written(name, f"{filler} and, in passing, a walrus", pin=True)
    await trial.written(name, "a pinned note without the word", pin=True)
    await trial.fill(name, [f"walrus walrus {number}" for number in range(24)])
    rows = await trial.found(name, query="walrus", limit=5)
    expect_equal("memories", len(rows), 5)
    expect(rows[0].pin, "the pinned match first", rows[0].content)
    expect_equal("pins that match", sum(bool(row.pin) for row in rows), 1)


@check("pin.first-in-embedding-search", _AMONG_BEST, needs=["pin", "embedding"])
async def first_in_embedding_search(trial: Trial) -> None:
    """Pins the third nearest of five and requests three: it comes first, then the nearest two."""
    name = await trial.namespace()
    for degrees in (0, 10, 20, 30, 40):
        content = f"at {degrees}"
        await trial.written(name, content, embedding=at_angle(degrees), pin=degrees == 20)
    found = await trial.contents(name, embedding=at_angle(0), limit=3)
    expect_equal("order", found, ["at 20", "at 0", "at 10"])


@check("pin.does-not-push-out-the-nearest", _AMONG_BEST, needs=["pin", "embedding"])
async def does_not_push_out_the_nearest(trial: Trial) -> None:
    """Pins three far memories and requests the two nearest: the pinned ones must not appear."""
    name = await trial.namespace()
    for degrees in (0, 10):
        await trial.written(name, f"near {degrees}", embedding=at_angle(degrees))
    for degrees in (70, 80, 90):
        await trial.written(name, f"far {degrees}", embedding=at_angle(degrees), pin=True)
    found = await trial.contents(name, embedding=at_angle(0), limit=2)
    expect_equal("the nearest two", found, ["near 0", "near 10"])


@check("pin.first-in-hybrid-search", _AMONG_BEST, needs=["pin", "embedding", "fts"])
async def first_in_hybrid_search(trial: Trial) -> None:
    """Pins a far memory without the word: first among the best ten, absent from the best three."""
    name = await trial.namespace()
    for number in range(4):
        await trial.written(name, f"lighthouse {number}", embedding=at_angle(number))
    await trial.written(name, "an old shoe", embedding=at_angle(90), pin=True)
    fields = {"query": "lighthouse", "embedding": at_angle(0)}
    found = await trial.contents(name, limit=10, **fields)
    expect_equal("first of ten", found[:1], ["an old shoe"])
    found = await trial.contents(name, limit=3, **fields)
    expect("an old shoe" not in found, "the best three without the far pin", found)
