"""A short soak test: neither memory nor latency may creep up under steady load."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import TypeVar

import pytest

from tests.faults.background import in_background
from tests.faults.cluster import Postgres
from tests.faults.consistency import assert_consistent
from tests.faults.load import Load
from tests.faults.plugin import Plugin

pytestmark = pytest.mark.anyio

# The last third of the run is compared with the first: a leak doubles sooner or later, noise does
# not.
MEMORY_RATIO = 1.15
COST_RATIO = 2.0
MEDIAN_RATIO = 1.7
TAIL_RATIO = 2.5
# In a shorter run, latency mostly reflects other work on the machine.
LONG_SECONDS = 60

T = TypeVar("T")


@dataclass(frozen=True)
class Work:
    """The plugin's work so far."""

    processor_seconds: float
    calls: int


@pytest.mark.parametrize(
    "seconds", [12, pytest.param(600, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])]
)
async def test_memory_and_waiting_times_stay_flat(
    tcp_plugin: Plugin, postgres: Postgres, seconds: float
) -> None:
    memory: list[int] = []
    work: list[Work] = []
    # A pause between calls, so that the machine is not overloaded.
    async with yardstick(postgres) as bare, Load([tcp_plugin.address], pause=0.05) as load:
        # Pools, caches and the allocator fill up at first.
        await asyncio.sleep(min(seconds / 4, 30))
        start = perf_counter()
        bare.clear()
        for _ in range(60):
            await asyncio.sleep(seconds / 60)
            await load.serves(1)
            memory.append(tcp_plugin.memory)
            work.append(Work(tcp_plugin.processor_seconds, len(load.history.calls)))
    waits = [call.end - call.start for call in load.history.calls if call.start > start]
    early, late = thirds(work)
    assert cost(late) < COST_RATIO * cost(early)
    if seconds >= LONG_SECONDS:
        (first, last), (bare_first, bare_last) = thirds(waits), thirds(bare)
        slower = max(1.0, median(bare_last) / median(bare_first))
        assert median(last) < MEDIAN_RATIO * slower * median(first)
        slower = max(1.0, tail(bare_last) / tail(bare_first))
        assert tail(last) < TAIL_RATIO * slower * tail(first)
    small, large = thirds(memory)
    assert median(large) < MEMORY_RATIO * median(small)
    assert load.history.count("acknowledged") == len(load.history.calls)
    await assert_consistent(load.history, tcp_plugin.address, postgres)
    assert tcp_plugin.alarms == []


@asynccontextmanager
async def yardstick(postgres: Postgres) -> AsyncIterator[list[float]]:
    """How long a commit takes without a plugin, as a measure of the machine's speed."""
    waits: list[float] = []

    async def commit() -> None:
        async with postgres.connect() as connection:
            await connection.execute("CREATE TABLE yardstick AS SELECT 0 AS n")
            while True:
                start = perf_counter()
                await connection.execute("UPDATE yardstick SET n = n + 1")
                waits.append(perf_counter() - start)
                await asyncio.sleep(0.02)

    async with in_background(commit()):
        yield waits


def cost(work: Sequence[Work]) -> float:
    """The processor time per call."""
    return (work[-1].processor_seconds - work[0].processor_seconds) / (
        work[-1].calls - work[0].calls
    )


def thirds(values: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """The first and the last third."""
    third = len(values) // 3
    return values[:third], values[-third:]


def tail(waits: Sequence[float]) -> float:
    """The 95th percentile."""
    return quantiles(waits, n=20)[-1]
