"""How much a sample without a mismatch says about the rest."""

import math

from backfill.wording import counted

CONFIDENCE = 0.95


def most_that_may_be_bad(sampled: int, population: int) -> int:
    """The largest number of bad items that a clean sample leaves possible at 95 % confidence.

    Exact, without replacement: with `bad` of them in the population, a clean sample of that
    size has the chance C(population - bad, sampled) / C(population, sampled).
    """
    if not 0 < sampled <= population:
        raise ValueError("a sample has at least one item and at most all of them")

    def log_chance(bad: int) -> float:
        if bad > population - sampled:
            return -math.inf
        return (
            math.lgamma(population - bad + 1)
            - math.lgamma(population - bad - sampled + 1)
            - math.lgamma(population + 1)
            + math.lgamma(population - sampled + 1)
        )

    low, high = 0, population - sampled
    while low < high:
        middle = (low + high + 1) // 2
        if log_chance(middle) > math.log(1 - CONFIDENCE):
            low = middle
        else:
            high = middle - 1
    return low


def sentence(sampled: int, population: int) -> str:
    """What a clean sample proves, in plain words."""
    what = f"{sampled:,} of {counted(population, 'workspace')}"
    if sampled == population:
        return f"{what}: all of them were compared"
    # "Fewer than" is strict, so the number that is ruled out is one larger.
    percent = (most_that_may_be_bad(sampled, population) + 1) / population * 100
    shown = f"{math.ceil(percent)}" if percent >= 1 else f"{math.ceil(percent * 100) / 100:g}"
    return f"{what}: with 95% confidence fewer than {shown}% have a mismatch"
