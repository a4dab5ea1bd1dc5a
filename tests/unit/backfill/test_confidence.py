"""What a clean sample proves."""

from math import comb

import pytest

from backfill.confidence import most_that_may_be_bad, sentence


@pytest.mark.parametrize(("sampled", "population"), [(1, 2), (5, 20), (50, 1200), (60, 61), (9, 9)])
def test_the_bound_is_the_exact_one(sampled: int, population: int) -> None:
    def chance(bad: int) -> float:
        return comb(population - bad, sampled) / comb(population, sampled)

    most = most_that_may_be_bad(sampled, population)
    assert most == max(bad for bad in range(population + 1) if bad == 0 or chance(bad) > 0.05)


def test_the_sentence_is_the_one_of_the_runbook() -> None:
    assert sentence(50, 1200) == (
        "50 of 1,200 workspaces: with 95% confidence fewer than 6% have a mismatch"
    )


def test_a_small_share_is_not_rounded_to_nothing() -> None:
    assert sentence(3000, 100_000).endswith("fewer than 0.1% have a mismatch")


def test_a_sample_of_everything_is_complete() -> None:
    assert sentence(7, 7) == "7 of 7 workspaces: all of them were compared"


@pytest.mark.parametrize(("sampled", "population"), [(0, 5), (6, 5)])
def test_a_sample_that_cannot_be_drawn_is_refused(sampled: int, population: int) -> None:
    with pytest.raises(ValueError, match="a sample has"):
        most_that_may_be_bad(sampled, population)
