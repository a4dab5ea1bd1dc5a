"""`limit`: 1 to 100, 20 by default, and exact."""

from harness.check import check
from harness.trial import Trial, expect_equal

_LIMIT = "limit: optional, 1–100, default 20."


@check("limits.default-is-20", _LIMIT)
async def default_is_20(trial: Trial) -> None:
    """Writes 25 memories and searches without a limit."""
    name = await trial.namespace()
    await trial.fill(name, [f"note {number}" for number in range(25)])
    expect_equal("memories found", len(set(await trial.contents(name))), 20)


@check("limits.one-is-the-newest", _LIMIT)
async def one_is_the_newest(trial: Trial) -> None:
    """Requests one of two memories that were written more than a second apart."""
    name = await trial.namespace()
    await trial.written(name, "older")
    await trial.sleep(1.1)
    await trial.written(name, "newer")
    expect_equal("contents", await trial.contents(name, limit=1), ["newer"])


@check("limits.exactly-100", _LIMIT)
async def exactly_100(trial: Trial) -> None:
    """Writes 103 memories and requests 100 and 7: exactly that many, all different."""
    name = await trial.namespace()
    await trial.fill(name, [f"note {number}" for number in range(103)])
    for limit in (100, 7):
        found = await trial.found(name, limit=limit)
        expect_equal("memories found", len(found), limit)
        expect_equal("different memories", len({row.id for row in found}), limit)


@check("limits.complete-below", "A search whose matches fit into the limit returns all of them.")
async def complete_below(trial: Trial) -> None:
    """Writes 100 memories into two namespaces and requests 100: all of them, each once."""
    names = [await trial.namespace(), await trial.namespace()]
    sent = [f"note {number}" for number in range(100)]
    await trial.fill(names[0], sent[:37])
    await trial.fill(names[1], sent[37:])
    expect_equal("contents", sorted(await trial.contents(*names, limit=100)), sorted(sent))


@check("limits.101-is-refused", _LIMIT)
async def limit_101_is_refused(trial: Trial) -> None:
    """Requests 101: 400, not silently 100."""
    name = await trial.namespace()
    (await trial.search(name, limit=101)).expect_error(400, "bad_request")


@check("limits.0-is-refused", _LIMIT)
async def limit_0_is_refused(trial: Trial) -> None:
    """Requests 0 and -1: 400."""
    name = await trial.namespace()
    (await trial.search(name, limit=0)).expect_error(400, "bad_request")
    (await trial.search(name, limit=-1)).expect_error(400, "bad_request")


@check("limits.other-types-are-refused", _LIMIT)
async def other_types_are_refused(trial: Trial) -> None:
    """Requests "ten", true, 2.5, [5] and a number beyond 64 bits: 400."""
    name = await trial.namespace()
    others: list[object] = ["ten", "10", True, 2.5, [5], {}, 2**70]
    for limit in others:
        (await trial.search(name, limit=limit)).expect_error(400, "bad_request")
