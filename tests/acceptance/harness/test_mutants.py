"""The harness is tested too: every broken plugin is found by the checks that it names."""

import asyncio

import pytest

from harness import Report, Settings, all_checks, run_async
from tests.acceptance.harness.mutant_table import TABLE, table
from tests.acceptance.harness.mutants import Mutant, all_mutants
from tests.acceptance.harness.unkilled import REASONS

MUTANTS = all_mutants()
AREAS = sorted({mutant.area for mutant in MUTANTS})


async def run_mutant(mutant: Mutant, slots: asyncio.Semaphore) -> Report:
    async with slots:
        return await run_async(mutant.build(), Settings(only=mutant.killed_by, timeout=60))


def survived(mutant: Mutant, report: Report) -> list[str]:
    """The checks that let the mutant pass."""
    lines = []
    for result in report.results:
        if result.id in mutant.killed_by:
            warns = mutant.only_warns or result.level == "should"
            if result.outcome not in ("warn" if warns else "fail", "blocked"):
                lines.append(f"{mutant.name} survived {result.id}: {result.outcome}")
    return lines


@pytest.mark.anyio
@pytest.mark.parametrize("area", AREAS)
async def test_every_mutant_is_killed_by_the_checks_it_names(area: str) -> None:
    mutants = [mutant for mutant in MUTANTS if mutant.area == area]
    # Side by side, because some wait; not all at once, because timing matters to those.
    slots = asyncio.Semaphore(8)
    reports = await asyncio.gather(*(run_mutant(mutant, slots) for mutant in mutants))
    survivors = [
        line
        for mutant, report in zip(mutants, reports, strict=True)
        for line in survived(mutant, report)
    ]
    assert survivors == []


def test_every_check_kills_a_mutant_or_has_a_reason_not_to() -> None:
    killers = {name for mutant in MUTANTS for name in mutant.killed_by}
    known = {check.id for check in all_checks()}
    assert killers <= known
    assert REASONS.keys() <= known
    assert sorted(known - killers - REASONS.keys()) == []
    assert sorted(killers & REASONS.keys()) == []


def test_there_are_enough_mutants_and_each_has_its_own_name() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) >= 40
    assert len(set(names)) == len(names)


def test_the_table_of_checks_and_mutants_is_up_to_date() -> None:
    # To write it anew: python -m tests.acceptance.harness.mutant_table
    assert TABLE.read_text() == table()
