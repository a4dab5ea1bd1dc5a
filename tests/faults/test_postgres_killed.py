"""PostgreSQL dies, restarts or cuts its connections: 503 meanwhile, and recovery by itself."""

import asyncio
import random
from time import perf_counter

import pytest

from tests.faults.cluster import Postgres
from tests.faults.consistency import assert_consistent
from tests.faults.load import Load
from tests.faults.plugin import Plugin
from tests.faults.recovery import assert_recovers
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


async def take_down(load: Load, server: Postgres, *, kill: bool) -> None:
    """An outage until a client has noticed, and the recovery."""
    down = perf_counter()
    await asyncio.to_thread(server.kill if kill else server.stop)
    await eventually(
        lambda: load.history.count("unavailable", since=down) > 0, "nobody is told 503"
    )
    server.start()
    await assert_recovers(load.history, since=await server.ready())


@pytest.mark.parametrize(
    ("kills", "restarts", "cuts"),
    [
        pytest.param(1, 1, 1, id="short"),
        pytest.param(5, 3, 10, id="long", marks=pytest.mark.slow),
    ],
)
async def test_the_plugin_says_503_and_recovers_without_a_restart(
    plugin: Plugin, postgres: Postgres, kills: int, restarts: int, cuts: int
) -> None:
    faults = ["kill"] * kills + ["restart"] * restarts + ["cut"] * cuts
    random.shuffle(faults)
    async with Load([plugin.address]) as load:
        for fault in faults:
            await load.serves(random.randint(2, 20))
            if fault == "cut":
                assert await postgres.terminate_clients("memory-plugin-postgres") > 0
                await assert_recovers(load.history, since=perf_counter())
            else:
                await take_down(load, postgres, kill=fault == "kill")
    assert plugin.running
    assert plugin.alarms == []
    await assert_consistent(load.history, plugin.address, postgres)
    assert load.history.count("reset") == load.history.count("unreachable") == 0
