"""Two plugins with two workers each on one database, all writing the same memories."""

import asyncio

import pytest

from tests.faults.cluster import Postgres
from tests.faults.consistency import assert_consistent
from tests.faults.load import MIXED, SHARED, Load
from tests.faults.plugin import running_plugin
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

SAME_IDS = {"write_shared": 80, "write_shared_batch": 5, "read_shared": 15}


@pytest.mark.parametrize("seconds", [2, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mix", [SAME_IDS, MIXED], ids=["same ids", "mixed"])
async def test_one_row_per_id_with_the_last_acknowledged_content(
    postgres: Postgres, mix: dict[str, int], seconds: float
) -> None:
    async with (
        running_plugin(postgres.url, "--workers=2") as one,
        running_plugin(postgres.url, "--workers=2") as other,
    ):
        addresses = [one.address, other.address]
        # A permanent block between writers would show as a timeout.
        async with Load(addresses, clients=100, mix=mix, shared_memories=20) as load:
            await asyncio.sleep(seconds)
            # On a busy machine that may be before the first write.
            await eventually(lambda: len(load.history.keys_of(SHARED)) == 20, "few shared writes")
        for address in addresses:
            await assert_consistent(load.history, address, postgres)
        # No write was refused: writers of the same rows must not block each other permanently.
        assert load.history.count("acknowledged") == len(load.history.calls)
        rows = await postgres.fetch(
            "SELECT count(*) FROM memory_plugin.memory_records WHERE namespace = $1", SHARED
        )
        assert 0 < rows[0]["count"] <= 20
        assert one.alarms == other.alarms == []
