"""The primary is killed and its synchronous standby promoted: the plugin follows by itself."""

import asyncio
from collections.abc import AsyncIterator
from time import perf_counter

import pytest

from tests.faults.cluster import Postgres, add_standby, directory
from tests.faults.consistency import assert_consistent
from tests.faults.load import Load
from tests.faults.plugin import running_plugin
from tests.faults.recovery import assert_recovers
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def standby(postgres: Postgres) -> AsyncIterator[Postgres]:
    with directory("standby") as made:
        server = await add_standby(postgres, made)
        try:
            yield server
        finally:
            server.end()


def both(postgres: Postgres, standby: Postgres) -> str:
    return f"postgresql://postgres@{postgres.host},{standby.host}/postgres"


async def test_writes_continue_on_the_new_primary_and_nothing_is_lost(
    postgres: Postgres, standby: Postgres
) -> None:
    async with running_plugin(both(postgres, standby)) as plugin:
        async with Load([plugin.address]) as load:
            await load.serves()
            await asyncio.to_thread(postgres.kill)
            killed = perf_counter()
            await eventually(
                lambda: load.history.count("unavailable", since=killed) > 100, "nobody is told 503"
            )
            # Nothing is read from the standby before it is promoted, because it may lag.
            assert load.history.count("acknowledged", since=killed) == 0
            await asyncio.to_thread(standby.promote)
            await assert_recovers(load.history, since=perf_counter())
            await load.serves()
        assert plugin.running
        await assert_consistent(load.history, plugin.address, standby)
        assert load.history.count("reset") == load.history.count("unreachable") == 0
        assert plugin.alarms == []


def refused_writes(load: Load, since: float) -> int:
    """How many writes since then were answered with 503."""
    writes = [c for c in load.history.calls if c.action.startswith(("POST", "PUT", "PATCH"))]
    return sum(c.outcome == "unavailable" for c in writes if c.start > since)


async def test_a_write_that_the_standby_did_not_get_is_not_acknowledged(
    postgres: Postgres, standby: Postgres
) -> None:
    impatience = ("--statement-timeout=1", "--pool-timeout=1")
    async with running_plugin(both(postgres, standby), *impatience) as plugin:
        async with Load([plugin.address], clients=4) as load:
            await load.serves()
            standby.freeze()
            stalled = perf_counter()
            await eventually(lambda: refused_writes(load, stalled) > 0, "nobody is told 503")
            await asyncio.to_thread(postgres.kill)
            standby.thaw()
            await asyncio.to_thread(standby.promote)
            await assert_recovers(load.history, since=perf_counter())
        await assert_consistent(load.history, plugin.address, standby)
