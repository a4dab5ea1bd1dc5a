"""SIGTERM under load: every request that was sent is answered, and the process exits in time."""

import asyncio

import pytest

from tests.faults.cluster import Postgres
from tests.faults.consistency import assert_consistent
from tests.faults.load import Load
from tests.faults.plugin import running_plugin
from tests.faults.raw_http import open_many, request
from tests.waiting import SECONDS

pytestmark = pytest.mark.anyio

WAITING = (
    "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    " AND application_name = 'memory-plugin-postgres'"
)


@pytest.mark.parametrize(
    ("listen", "workers", "times"),
    [
        ("127.0.0.1:0", 1, 1),
        ("", 2, 1),
        pytest.param("127.0.0.1:0", 1, 10, marks=pytest.mark.slow),
        pytest.param("127.0.0.1:0", 2, 10, marks=pytest.mark.slow),
    ],
)
async def test_nothing_is_lost_or_cut_off_and_it_exits_with_0(
    postgres: Postgres, listen: str, workers: int, times: int
) -> None:
    for _ in range(times):
        flags = (f"--workers={workers}", f"--shutdown-timeout={SECONDS}")
        async with running_plugin(postgres.url, *flags, listen=listen) as plugin:
            async with Load([plugin.address]) as load:
                await load.serves()
                plugin.terminate()
                assert await plugin.exit_code(SECONDS) == 0
            assert load.history.count("reset") == 0, "a request was sent and got no answer"
            plugin.start()
            await plugin.ready()
            await assert_consistent(load.history, plugin.address, postgres)
            assert plugin.alarms == []
        await postgres.execute("TRUNCATE memory_plugin.memory_namespaces CASCADE")


async def test_requests_that_cannot_finish_in_time_get_503(postgres: Postgres) -> None:
    async with running_plugin(postgres.url, "--shutdown-timeout=1", listen="127.0.0.1:0") as plugin:
        search = request("POST", "/v1/search", {"namespaces": ["workspace:1"]})
        waiting, half_sent = await open_many(plugin.address, 2)
        async with postgres.connect() as other, other.transaction():
            await other.execute("LOCK TABLE memory_plugin.memory_records")
            await waiting.send(search)
            await half_sent.send(search[:-5])
            while not await postgres.fetch(WAITING):  # noqa: ASYNC110 - only the database knows
                await asyncio.sleep(0.05)
            plugin.terminate()
            reply = await waiting.answer()
            assert (reply.status, reply.code) == (503, "unavailable")
            assert await plugin.exit_code(SECONDS) == 0
        assert "exception=" not in plugin.log
        for connection in (waiting, half_sent):
            connection.close()
