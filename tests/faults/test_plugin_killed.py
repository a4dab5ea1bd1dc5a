"""kill -9 of the plugin under load: no acknowledged write may be lost."""

import os
import random
import signal

import psutil
import pytest

from tests.faults.cluster import Postgres
from tests.faults.consistency import assert_consistent
from tests.faults.load import Load
from tests.faults.plugin import Plugin, running_plugin
from tests.waiting import SECONDS, eventually

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
async def test_what_was_acknowledged_survives_and_the_rest_can_be_repeated(
    plugin: Plugin, postgres: Postgres, kills: int
) -> None:
    async with Load([plugin.address]) as load:
        killed = 0
        # Until a kill has met a request under way, and a write had to be repeated.
        while killed < kills or not (load.history.count("reset") and load.history.repeats):
            await load.serves(random.randint(1, 20))
            plugin.kill()
            plugin.start()
            await plugin.ready()
            await load.serves(1)
            killed += 1
    await assert_consistent(load.history, plugin.address, postgres)
    assert plugin.alarms == []


@pytest.mark.slow
async def test_a_killed_worker_is_replaced_and_loses_nothing(postgres: Postgres) -> None:
    async with running_plugin(postgres.url, "--workers=2") as plugin:
        async with Load([plugin.address]) as load:
            for _ in range(5):
                await load.serves(random.randint(5, 20))
                random.choice(_workers(plugin)).kill()
                await eventually(lambda: len(_workers(plugin)) == 2, "a worker is missing")
        await assert_consistent(load.history, plugin.address, postgres)


@pytest.mark.slow
async def test_a_plugin_whose_first_process_was_killed_can_be_started_again(
    postgres: Postgres,
) -> None:
    async with running_plugin(postgres.url, "--workers=2") as plugin:
        orphans = _workers(plugin)
        async with Load([plugin.address]) as load:
            await load.serves()
            os.kill(plugin.pid, signal.SIGKILL)
            await plugin.exit_code(SECONDS)
            await eventually(lambda: not any(map(_serves, orphans)), "workers without a parent")
            plugin.start()
            await plugin.ready()
            await load.serves()
        await assert_consistent(load.history, plugin.address, postgres)


def _workers(plugin: Plugin) -> list[psutil.Process]:
    return [child for child in psutil.Process(plugin.pid).children() if _serves(child)]


def _serves(process: psutil.Process) -> bool:
    """Alive, and not the helper of multiprocessing that only tracks resources."""
    try:
        return "resource_tracker" not in " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False
