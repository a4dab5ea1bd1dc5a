"""`query` and `embedding` together: one ranking in which both count."""

from harness.check import check
from harness.checks.embedding import at_angle
from harness.trial import Exact, Trial, expect, expect_equal

_BOTH = "query and embedding together: both count (hybrid), fused into one ranking."
_NEEDS = ["embedding", "fts"]


@check("hybrid.both-count", _BOTH, needs=_NEEDS)
async def both_count(trial: Trial) -> None:
    """One memory matches the words, one the meaning, one both: all are found, that one first."""
    name = await trial.namespace()
    await trial.written(name, "the lighthouse door")
    await trial.written(name, "a beacon by the sea", embedding=at_angle(3))
    await trial.written(name, "an unrelated note", embedding=at_angle(100))
    await trial.written(name, "the lighthouse keeper", embedding=at_angle(5))
    found = await trial.contents(name, query="lighthouse", embedding=at_angle(0))
    expect_equal("first", found[:1], ["the lighthouse keeper"])
    for wanted in ("the lighthouse door", "a beacon by the sea"):
        expect(wanted in found, f"{wanted!r} to be found", found)


@check("hybrid.words-without-embedding", _BOTH, needs=_NEEDS)
async def words_without_embedding(trial: Trial) -> None:
    """A memory without an embedding is found by its words."""
    name = await trial.namespace()
    await trial.written(name, "a lighthouse without a vector")
    await trial.written(name, "a vector without the word", embedding=at_angle(0))
    found = await trial.contents(name, query="lighthouse", embedding=at_angle(0))
    expect_equal(
        "found",
        sorted(found),
        ["a lighthouse without a vector", "a vector without the word"],
    )


@check("hybrid.one-side-finds-nothing", _BOTH, needs=_NEEDS)
async def one_side_finds_nothing(trial: Trial) -> None:
    """If no memory has the words, meaning still finds some; and the other way round."""
    name = await trial.namespace()
    await trial.written(name, "a beacon", embedding=at_angle(0))
    found = await trial.contents(name, query="xylophone", embedding=at_angle(0))
    expect_equal("found by meaning", found, ["a beacon"])
    found = await trial.contents(
        name, query="beacon", embedding=Exact(at_angle(0, (trial.dimension or 3) + 4))
    )
    expect_equal("found by words", found, ["a beacon"])


@check("hybrid.no-doubles", "SearchResponse.memories: each memory once.", needs=_NEEDS)
async def no_doubles(trial: Trial) -> None:
    """Writes 12 memories that match both ways and requests 10: ten different ones."""
    name = await trial.namespace()
    for number in range(12):
        await trial.written(name, f"lighthouse {number}", embedding=at_angle(12 - number))
    rows = await trial.found(name, query="lighthouse", embedding=at_angle(0), limit=10)
    expect_equal("different memories", len({row.id for row in rows}), 10)
    expect_equal("memories", len(rows), 10)


@check("hybrid.filters", "namespaces: authoritative; kinds: a filter.", needs=_NEEDS)
async def filters(trial: Trial) -> None:
    """Namespaces and kinds hold for both halves of the search."""
    here, there = await trial.namespace(), await trial.namespace()
    await trial.written(here, "lighthouse here", kind="fact", embedding=at_angle(0))
    await trial.written(here, "lighthouse sum", kind="summary", embedding=at_angle(0))
    await trial.written(there, "lighthouse there", kind="fact", embedding=at_angle(0))
    found = await trial.contents(here, query="lighthouse", embedding=at_angle(0), kinds=["fact"])
    expect_equal("found", found, ["lighthouse here"])
