"""A search, a write or a delete affects only the namespaces that it names."""

from harness.check import check
from harness.trial import Trial, expect_equal

_ONLY = "namespaces: authoritative, already filtered by the caller's ACL."


async def _pair(trial: Trial, one: str, other: str) -> None:
    """Two namespaces whose names differ only in their suffix: each returns its own memory."""
    first = await trial.special_name(one)
    second = first[: len(first) - len(one)] + other if one else first + other
    trial.own(second)
    for name in (first, second):
        (await trial.put(name)).expect(200)
        await trial.written(name, f"in {name}")
    for name in (first, second):
        expect_equal(f"memories of {name}", await trial.contents(name), [f"in {name}"])


@check("isolation.names-that-share-a-prefix", _ONLY)
async def names_that_share_a_prefix(trial: Trial) -> None:
    """Searches `…7` next to `…7.sub` and `…7:sub`: one name is the start of the others."""
    await _pair(trial, "", ".sub")
    await _pair(trial, "", ":sub")


@check("isolation.names-are-exact", _ONLY)
async def names_are_exact(trial: Trial) -> None:
    """Searches names that differ in case, or in characters that are wildcards in SQL or regex."""
    await _pair(trial, ".Team", ".team")
    await _pair(trial, "_x", "-x")
    await _pair(trial, ".x", ":x")


@check("isolation.same-content", _ONLY)
async def same_content(trial: Trial) -> None:
    """Writes the same content into two namespaces: two memories, each in its own."""
    first, second = await trial.namespace(), await trial.namespace()
    ids = [await trial.written(name, "same words") for name in (first, second)]
    rows = await trial.found(first, second)
    expect_equal(
        "rows",
        {(str(row.id), row.namespace) for row in rows},
        set(zip(ids, (first, second), strict=True)),
    )
    (await trial.forget(ids[0], first)).expect(204)
    expect_equal("memories of the second", await trial.contents(second), ["same words"])


@check("isolation.metadata", "PUT and PATCH change the namespace in the path.")
async def metadata(trial: Trial) -> None:
    """Changes one of two namespaces: the other keeps its metadata."""
    first, second = (
        await trial.namespace(metadata={"n": 1}),
        await trial.namespace(metadata={"n": 2}),
    )
    (await trial.patch(first, metadata={"n": 3})).expect(200)
    answer = (await trial.put(second)).expect(200)
    expect_equal("metadata of the second", answer.object.get("metadata"), {"n": 2})
