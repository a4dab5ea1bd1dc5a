"""The database's volume is full: 503, and everything works again once there is room."""

import asyncio
from pathlib import Path
from time import perf_counter

import pytest

from tests.faults.cluster import Postgres, directory
from tests.faults.consistency import assert_consistent
from tests.faults.load import Load
from tests.faults.plugin import running_plugin
from tests.faults.recovery import assert_recovers
from tests.faults.volume import Volume, small_volume
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

SMALL = {"max_wal_size": "4MB", "min_wal_size": "2MB", "temp_file_limit": "1MB"}


@pytest.mark.parametrize(
    "times", [1, pytest.param(5, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
async def test_a_full_disk_means_503_and_corrupts_nothing(template: Path, times: int) -> None:
    with directory("full") as made:
        server = Postgres(made, SMALL)
        server.data.mkdir()
        with small_volume(server.data, "96m", server.account) as volume:
            server.entering = volume.entering
            server.data = volume.path / "postgres"
            volume.run("cp", "-r", str(template), str(server.data))
            server.start()
            try:
                await server.ready()
                async with running_plugin(server.url) as plugin:
                    async with Load([plugin.address]) as load:
                        for _ in range(times):
                            await load.serves()
                            await fill_and_empty(load, server, volume)
                    assert plugin.running
                    await assert_consistent(load.history, plugin.address, server)
                    assert load.history.count("reset") == 0
                    assert plugin.alarms == []
                server.stop()
                server.run("pg_checksums", "--check", "-D", str(server.data))
            finally:
                server.end()


async def fill_and_empty(load: Load, server: Postgres, volume: Volume) -> None:
    full = perf_counter()
    await asyncio.to_thread(volume.fill)
    await eventually(
        lambda: load.history.count("unavailable", since=full) > 100,
        "the disk is full and nobody noticed",
    )
    volume.empty()
    if not server.running:
        # It stops when there is no room even for its log; a service manager restarts it.
        server.start()
    await assert_recovers(load.history, since=await server.ready())
