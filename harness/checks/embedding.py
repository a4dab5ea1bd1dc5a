"""Search by meaning: the nearest vectors first.

All vectors here have length 1, so cosine, dot product and distance agree on the order.
"""

import math

from harness.check import check
from harness.trial import Exact, Trial, expect, expect_equal, memories_of

_NEEDS = ["embedding"]
_ANY = "A plugin that lists embedding should take any dimension."
_ZERO = (
    "A zero vector is a valid embedding: stored, and as far from everything as a right angle; it"
    " never breaks another row's search."
)


def at_angle(degrees: float, dimension: int = 3) -> list[float]:
    """A vector of length 1 at an angle to the first axis."""
    angle = math.radians(degrees)
    return [math.cos(angle), math.sin(angle)] + [0.0] * (dimension - 2)


async def _fan(trial: Trial, name: str, dimension: int = 3) -> None:
    """Five memories at growing angles from the first axis, written out of order."""
    for degrees in (40, 0, 80, 20, 60):
        content = f"at {degrees}"
        await trial.written(name, content, embedding=at_angle(degrees, dimension))


@check("embedding.nearest-first", "embedding: nearest first.", needs=_NEEDS)
async def nearest_first(trial: Trial) -> None:
    """Searches from both ends of a fan of five vectors."""
    name = await trial.namespace()
    await _fan(trial, name)
    up = ["at 0", "at 20", "at 40", "at 60", "at 80"]
    expect_equal("order from 0", await trial.contents(name, embedding=at_angle(-5)), up)
    expect_equal("order from 90", await trial.contents(name, embedding=at_angle(90)), up[::-1])


@check("embedding.high-dimension", _ANY, needs=_NEEDS)
async def high_dimension(trial: Trial) -> None:
    """Searches among vectors of 1,536 numbers, a common size."""
    name = await trial.namespace()
    dimension = trial.dimension or 1536
    await _fan(trial, name, dimension)
    found = await trial.contents(name, embedding=at_angle(0, dimension), limit=2)
    expect_equal("nearest two", found, ["at 0", "at 20"])


@check(
    "embedding.unknown-dimension",
    "An embedding whose dimension no row has: an empty list, 200.",
    needs=_NEEDS,
)
async def unknown_dimension(trial: Trial) -> None:
    """Searches with five numbers when all rows have three, or the plugin's own dimension."""
    name = await trial.namespace()
    await _fan(trial, name)
    other = Exact(at_angle(0, (trial.dimension or 3) + 2))
    body = (await trial.search(name, embedding=other)).expect(200).object
    expect_equal("memories", body.get("memories", "no such field"), [])


@check("embedding.mixed-dimensions", _ANY, needs=_NEEDS)
async def mixed_dimensions(trial: Trial) -> None:
    """Stores vectors of 2 and of 4 numbers in one namespace: a query finds those of its dimension.

    A plugin with one dimension refuses a write of another, naming the field.
    """
    name = await trial.namespace()
    if trial.dimension is not None:
        trial.warn(f"takes embeddings of {trial.dimension} numbers only; any should be welcome")
        other = Exact(at_angle(0, trial.dimension + 1))
        answer = await trial.write(name, "other", embedding=other)
        answer.expect_error(400, "bad_request")
        message = answer.envelope().message
        expect("embedding" in message, "a message that names embedding", message)
        return
    await trial.written(name, "two", embedding=[1.0, 0.0])
    await trial.written(name, "four", embedding=[1.0, 0.0, 0.0, 0.0])
    expect_equal("of two", await trial.contents(name, embedding=[0.6, 0.8]), ["two"])
    found = await trial.contents(name, embedding=[0.6, 0.8, 0.0, 0.0])
    expect_equal("of four", found, ["four"])


@check("embedding.zero-vector-spares-others", _ZERO, needs=_NEEDS)
async def zero_vector_spares_others(trial: Trial) -> None:
    """Writes a zero vector next to others: searches for those work as before."""
    name = await trial.namespace()
    await _fan(trial, name)
    await trial.written(name, "zero", embedding=[0.0, 0.0, 0.0])
    found = await trial.contents(name, embedding=at_angle(0), limit=3)
    expect_equal("nearest three", found, ["at 0", "at 20", "at 40"])


@check("embedding.zero-vector-is-a-right-angle", _ZERO, needs=_NEEDS)
async def zero_vector_is_a_right_angle(trial: Trial) -> None:
    """Searches among a near, a zero and an opposite vector, also with a zero vector."""
    name = await trial.namespace()
    await trial.written(name, "zero", embedding=[0.0, 0.0, 0.0])
    await trial.written(name, "away", embedding=at_angle(150))
    await trial.written(name, "near", embedding=at_angle(30))
    found = await trial.contents(name, embedding=at_angle(0))
    expect_equal("order", found, ["near", "zero", "away"])
    found = await trial.contents(name, embedding=[0.0, 0.0, 0.0])
    expect_equal("found by a zero vector", sorted(found), ["away", "near", "zero"])


@check("embedding.whole-numbers", "embedding: list of numbers.", needs=_NEEDS)
async def whole_numbers(trial: Trial) -> None:
    """Writes and searches with 1, 0 and -1e0 instead of 1.0 and 0.0: the same numbers."""
    name = await trial.namespace()
    rest = ", 0" * ((trial.dimension or 3) - 2)
    for content, start in (("east", "1, 0"), ("west", "-1e0, 0")):
        body = f'{{"content": "{content}", "kind": "fact", "source": "agent",'
        body += f' "embedding": [{start}{rest}]}}'
        path = f"/v1/namespaces/{name}/memories"
        (await trial.send("POST", path, raw=body.encode())).expect(201)
    search = f'{{"namespaces": ["{name}"], "embedding": [2, 0{rest}], "limit": 1}}'
    answer = await trial.send("POST", "/v1/search", raw=search.encode())
    expect_equal("nearest", [row.content for row in memories_of(answer)], ["east"])


@check("embedding.only-named-namespaces", "namespaces: authoritative.", needs=_NEEDS)
async def only_named_namespaces(trial: Trial) -> None:
    """Searches one of two namespaces; the other holds the nearer vector."""
    here, there = await trial.namespace(), await trial.namespace()
    await trial.written(here, "far but here", embedding=at_angle(80))
    await trial.written(there, "near but there", embedding=at_angle(0))
    found = await trial.contents(here, embedding=at_angle(0))
    expect_equal("found", found, ["far but here"])


@check("embedding.with-kinds", "kinds: optional list of memory kinds.", needs=_NEEDS)
async def with_kinds(trial: Trial) -> None:
    """Asks for one summary; a nearer fact must not take its place."""
    name = await trial.namespace()
    await trial.written(name, "fact", kind="fact", embedding=at_angle(0))
    await trial.written(name, "summary", kind="summary", embedding=at_angle(30))
    found = await trial.contents(name, embedding=at_angle(0), kinds=["summary"], limit=1)
    expect_equal("found", found, ["summary"])


@check("embedding.limit", "limit: 1–100, default 20.", needs=_NEEDS)
async def limit(trial: Trial) -> None:
    """Writes 25 vectors: the nearest 20 without a limit, the nearest 3 with one."""
    name = await trial.namespace()
    for number in range(25):
        await trial.written(name, f"number {number}", embedding=at_angle(3 * number))
    near = [f"number {number}" for number in range(25)]
    expect_equal("by default", await trial.contents(name, embedding=at_angle(0)), near[:20])
    found = await trial.contents(name, embedding=at_angle(0), limit=3)
    expect_equal("with a limit of 3", found, near[:3])


@check(
    "embedding.follows-an-update",
    "The write replaces the whole memory: the old embedding no longer counts.",
    needs=_NEEDS,
)
async def follows_an_update(trial: Trial) -> None:
    """Moves the nearest vector to the far end by a write with its id."""
    name = await trial.namespace()
    moved = await trial.written(name, "mover", id=trial.uuid(), embedding=at_angle(0))
    await trial.written(name, "stayer", embedding=at_angle(30))
    await trial.written(name, "mover", id=moved, embedding=at_angle(90))
    found = await trial.contents(name, embedding=at_angle(0))
    expect_equal("order", found, ["stayer", "mover"])


@check("embedding.plain-search-sees-all", "embedding: optional.", needs=_NEEDS)
async def plain_search_sees_all(trial: Trial) -> None:
    """Searches without an embedding: memories with and without one are found."""
    name = await trial.namespace()
    await trial.written(name, "with", embedding=at_angle(0))
    await trial.written(name, "without")
    expect_equal("found", sorted(await trial.contents(name)), ["with", "without"])


@check(
    "embedding.bad-numbers",
    "NaN/Infinity in an embedding, a wrong type anywhere: 400 with a message that names the"
    " field. Never 500.",
    needs=_NEEDS,
)
async def bad_numbers(trial: Trial) -> None:
    """Sends NaN, Infinity, a number too large for a double, strings, nulls, and no list at all."""
    name = await trial.namespace()
    path = f"/v1/namespaces/{name}/memories"
    for bad in ("[NaN, 1]", "[1, Infinity]", "[-Infinity]", "[1e999]", '["1"]', "[null]", '"x"'):
        write = f'{{"content": "x", "kind": "fact", "source": "agent", "embedding": {bad}}}'
        search = f'{{"namespaces": ["{name}"], "embedding": {bad}}}'
        for where, body in ((path, write), ("/v1/search", search)):
            answer = await trial.send("POST", where, raw=body.encode())
            answer.expect_error(400, "bad_request")
            if bad not in ("[NaN, 1]", "[1, Infinity]", "[-Infinity]"):
                # Those three are not JSON, so a parser may not know the field.
                message = answer.envelope().message
                expect("embedding" in message, "a message that names embedding", message)
    expect_equal("memories", await trial.contents(name), [])
