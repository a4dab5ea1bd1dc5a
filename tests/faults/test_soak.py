"""Hours of work, in small: neither memory nor waiting times may creep up under steady load."""

import asyncio
from statistics import median, quantiles
from time import perf_counter

import pytest

from tests.faults.cluster import Postgres
from tests.faults.history import Call
from tests.faults.load import Load
from tests.faults.plugin import Plugin
from tests.faults.verdict import assert_sound

pytestmark = pytest.mark.anyio

# A third of the run against another: what creeps doubles sooner or later, what is noise does not.
MEMORY_RATIO = 1.15
MEDIAN_RATIO = 1.7
TAIL_RATIO = 2.5


@pytest.mark.parametrize(
    "seconds", [12, pytest.param(600, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])]
)
async def test_memory_and_waiting_times_stay_flat(
    plugin: Plugin, postgres: Postgres, seconds: float
) -> None:
    memory: list[int] = []
    # A pause between calls, so that the machine and not its overload is measured.
    async with Load([plugin.address], pause=0.05) as load:
        # Pools, caches and the allocator fill up at first.
        await asyncio.sleep(min(seconds / 4, 30))
        start = perf_counter()
        while perf_counter() < start + seconds:
            await asyncio.sleep(seconds / 60)
            memory.append(plugin.memory)
    first, last = thirds([call for call in load.history.calls if call.start > start])
    third = len(memory) // 3
    assert median(memory[-third:]) < MEMORY_RATIO * median(memory[:third])
    assert median(last) < MEDIAN_RATIO * median(first)
    assert tail(last) < TAIL_RATIO * tail(first)
    assert load.history.count("acknowledged") == len(load.history.calls)
    await assert_sound(load.history, plugin.address, postgres)
    assert plugin.alarms == []


def thirds(calls: list[Call]) -> tuple[list[float], list[float]]:
    """The waiting times of the first and of the last third."""
    waits = [call.end - call.start for call in calls]
    third = len(waits) // 3
    return waits[:third], waits[-third:]


def tail(waits: list[float]) -> float:
    """The 95th percentile."""
    return quantiles(waits, n=20)[-1]
