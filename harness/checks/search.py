"""Search without a query: the newest memories of the named namespaces."""

import asyncio

from harness.check import check
from harness.trial import Trial, expect, expect_equal


@check("search.newest-first", "Newest-first: without a query the newest memories come first.")
async def newest_first(trial: Trial) -> None:
    """Writes three memories more than a second apart, so that any clock can distinguish them."""
    name = await trial.namespace()
    for number in range(3):
        if number:
            await trial.sleep(1.1)
        await trial.written(name, f"number {number}")
    rows = await trial.found(name)
    expect_equal(
        "order of the contents",
        [row.content for row in rows],
        ["number 2", "number 1", "number 0"],
    )
    times = [row.created_at for row in rows]
    expect(times == sorted(times, reverse=True), "created_at from new to old", times)


@check("search.newest-across-namespaces", "Newest-first: over all the named namespaces together.")
async def newest_across_namespaces(trial: Trial) -> None:
    """Writes into two namespaces in turn: the answer is sorted as a whole, then limited."""
    names = [await trial.namespace(), await trial.namespace()]
    for number in range(4):
        if number:
            await trial.sleep(1.1)
        await trial.written(names[number % 2], f"number {number}")
    found = await trial.contents(*names, limit=3)
    expect_equal("order of the contents", found, ["number 3", "number 2", "number 1"])


@check("search.empty-is-a-list", "SearchResponse.memories: a list, never null.")
async def empty_is_a_list(trial: Trial) -> None:
    """Searches an empty namespace: 200 with `memories: []`."""
    name = await trial.namespace()
    body = (await trial.search(name)).expect(200).object
    expect_equal("memories", body.get("memories", "no such field"), [])


@check("search.several-namespaces", "namespaces: 1 or more names; authoritative.")
async def several_namespaces(trial: Trial) -> None:
    """Searches two of three namespaces and expects their memories, each with its namespace."""
    first, second, third = [await trial.namespace() for _ in range(3)]
    for name in (first, second, third):
        await trial.written(name, f"in {name}")
    rows = await trial.found(first, second)
    expect_equal("namespaces found", {row.namespace for row in rows}, {first, second})
    expect_equal("contents", {row.content for row in rows}, {f"in {first}", f"in {second}"})


@check("search.unknown-namespaces", "Names that do not exist contribute nothing.")
async def unknown_namespaces(trial: Trial) -> None:
    """Searches with an unknown name next to a known one, and with unknown ones only."""
    name = await trial.namespace()
    await trial.written(name, "here")
    expect_equal("contents", await trial.contents(trial.name(), name), ["here"])
    expect_equal("contents", await trial.contents(trial.name(), trial.name()), [])


@check("search.repeated-namespaces", "Duplicate names in namespaces count once.")
async def repeated_namespaces(trial: Trial) -> None:
    """Names one namespace three times: each memory is returned once, and the limit holds."""
    name = await trial.namespace()
    for number in range(3):
        await trial.written(name, f"number {number}")
    found = await trial.contents(name, name, name)
    expect_equal("contents", sorted(found), ["number 0", "number 1", "number 2"])


@check("search.many-namespaces", "namespaces: 1 or more names.")
async def many_namespaces(trial: Trial) -> None:
    """Searches 60 names at once, two of which exist: an agent may read many teams."""
    names = [trial.name() for _ in range(58)]
    real = [await trial.namespace(), await trial.namespace()]
    for name in real:
        await trial.written(name, "here")
    rows = await trial.found(*names[:30], real[0], *names[30:], real[1])
    expect_equal("namespaces found", {row.namespace for row in rows}, set(real))


@check("search.kinds", "kinds: optional list of memory kinds.")
async def kinds(trial: Trial) -> None:
    """Filters by one kind and by two."""
    name = await trial.namespace()
    for kind in ("fact", "summary", "checkpoint"):
        await trial.written(name, kind, kind=kind)
    expect_equal("facts", await trial.contents(name, kinds=["fact"]), ["fact"])
    found = await trial.contents(name, kinds=["summary", "checkpoint"])
    expect_equal("summaries and checkpoints", sorted(found), ["checkpoint", "summary"])


@check("search.kinds-before-limit", "kinds: a filter; limit: how many of those that match.")
async def kinds_before_limit(trial: Trial) -> None:
    """Writes two old facts and ten newer summaries: a limit of 2 still returns both facts."""
    name = await trial.namespace()
    await trial.fill(name, ["fact 0", "fact 1"], kind="fact")
    await trial.fill(name, [f"summary {number}" for number in range(10)], kind="summary")
    found = await trial.contents(name, kinds=["fact"], limit=2)
    expect_equal("facts", sorted(found), ["fact 0", "fact 1"])


@check("search.order-is-stable", "Newest-first: the same search gives the same order.")
async def order_is_stable(trial: Trial) -> None:
    """Writes 30 memories at once, so that some may share a time, and searches five times."""
    name = await trial.namespace()
    await asyncio.gather(*(trial.written(name, f"number {number}") for number in range(30)))
    first = await trial.contents(name, limit=30)
    for _ in range(4):
        expect_equal("order of the contents", await trial.contents(name, limit=30), first)


@check("search.does-not-change-anything", "POST /v1/search reads.")
async def does_not_change_anything(trial: Trial) -> None:
    """Searches a namespace that does not exist: that does not create it."""
    name = trial.name()
    expect_equal("contents", await trial.contents(name), [])
    (await trial.write(name, "nowhere")).expect_error(404, "not_found")


@check("search.kinds-twice", "kinds: optional list of memory kinds.")
async def kinds_twice(trial: Trial) -> None:
    """Names a kind twice: each memory is found once."""
    name = await trial.namespace()
    await trial.written(name, "one", kind="fact")
    await trial.written(name, "two", kind="summary")
    found = await trial.contents(name, kinds=["fact", "fact", "summary"])
    expect_equal("contents", sorted(found), ["one", "two"])
