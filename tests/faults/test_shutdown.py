"""SIGTERM under load: every request that was sent is answered, and the process is gone in time."""

import asyncio

import pytest

from tests.faults.cluster import Postgres
from tests.faults.load import Load
from tests.faults.plugin import running_plugin
from tests.faults.verdict import assert_sound

pytestmark = pytest.mark.anyio

SECONDS = 10.0


@pytest.mark.parametrize(
    ("listen", "workers", "times"),
    [
        ("127.0.0.1:0", 1, 1),
        ("", 2, 1),
        pytest.param("127.0.0.1:0", 1, 10, marks=[pytest.mark.slow, pytest.mark.timeout(300)]),
        pytest.param("127.0.0.1:0", 2, 10, marks=[pytest.mark.slow, pytest.mark.timeout(300)]),
    ],
)
async def test_nothing_is_lost_or_cut_off_and_it_exits_with_0(
    postgres: Postgres, listen: str, workers: int, times: int
) -> None:
    for _ in range(times):
        async with running_plugin(postgres.url, f"--workers={workers}", listen=listen) as plugin:
            async with Load([plugin.address]) as load:
                await asyncio.sleep(0.7)
                plugin.terminate()
                assert await plugin.exit_code(SECONDS) == 0
            assert load.history.count("acknowledged") > 0
            assert load.history.count("reset") == 0, "a request was sent and got no answer"
            plugin.start()
            await plugin.ready()
            await assert_sound(load.history, plugin.address, postgres)
            assert plugin.alarms == []
        await postgres.execute("TRUNCATE memory_plugin.memory_namespaces CASCADE")
