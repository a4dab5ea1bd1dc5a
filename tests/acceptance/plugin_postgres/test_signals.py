"""Stopping the command: the first signal counts, and another one is no reason to hurry."""

import asyncio
import re
import signal
import tempfile
import time
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from contract import MemoryClient, MemoryPluginError, MemoryWrite, NamespaceUpsert
from tests.acceptance.command import Running, running
from tests.waiting import SECONDS, eventually

pytestmark = pytest.mark.anyio

A = "workspace:a"
MEMORY = MemoryWrite(content="kept", kind="fact", source="agent")
# An impatient Ctrl-C.
BETWEEN_SECONDS = 0.07
LONGER_THAN_A_STOP_SECONDS = 2


def signal_twice(plugin: Running, order: signal.Signals) -> None:
    plugin.signal_all(order)
    time.sleep(BETWEEN_SECONDS)
    plugin.signal_all(order)


def assert_quiet(plugin: Running) -> None:
    """Nothing but the news, a line each."""
    log = "\n".join(plugin.lines)
    assert "Traceback" not in log
    assert [line for line in plugin.lines if " INFO " not in line and "pgvector" not in line] == []


async def write_on(client: MemoryClient, acknowledged: list[UUID]) -> None:
    while True:
        try:
            acknowledged.append((await client.write(A, MEMORY)).id)
        except MemoryPluginError:
            return


@pytest.mark.parametrize("order", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("workers", [1, 2])
async def test_a_second_signal_is_quiet_and_loses_nothing(
    migrated: str, workers: int, order: signal.Signals
) -> None:
    acknowledged: list[UUID] = []
    flags = ("--listen=127.0.0.1:0", f"--database-url={migrated}", f"--workers={workers}")
    with running(*flags, f"--shutdown-timeout={SECONDS}") as plugin:
        async with MemoryClient(plugin.address, timeout=SECONDS, attempts=1) as client:
            await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
            writers = [asyncio.create_task(write_on(client, acknowledged)) for _ in range(4)]
            await eventually(lambda: len(acknowledged) >= 20)
            await asyncio.to_thread(signal_twice, plugin, order)
            await asyncio.gather(*writers)
        assert await asyncio.to_thread(plugin.exit_code) == 0
    assert_quiet(plugin)
    assert plugin.lines[-1].endswith("stopped")
    connection = await asyncpg.connect(migrated)
    try:
        rows = await connection.fetch("SELECT id FROM memory_plugin.memory_records")
    finally:
        await connection.close()
    assert set(acknowledged) <= {row["id"] for row in rows}


def test_a_second_signal_does_not_disturb_the_end_of_the_embedded_database() -> None:
    with tempfile.TemporaryDirectory(prefix="mp-sig-", ignore_cleanup_errors=True) as made:
        with running("--listen=127.0.0.1:0", f"--data-dir={made}") as plugin:
            plugin.signal_all(signal.SIGINT)
            plugin.wait_for(re.compile("embedded PostgreSQL is stopping"))
            signal_twice(plugin, signal.SIGINT)
            assert plugin.exit_code() == 0
        assert_quiet(plugin)
        log = (Path(made) / "postgres.log").read_text()
        assert "received fast shutdown request" in log
        assert "received immediate shutdown request" not in log


def test_a_terminal_that_closes_takes_the_embedded_database_with_it() -> None:
    with tempfile.TemporaryDirectory(prefix="mp-sig-", ignore_cleanup_errors=True) as made:
        with running("--listen=127.0.0.1:0", f"--data-dir={made}") as plugin:
            plugin.signal_all(signal.SIGHUP)
            assert plugin.exit_code() == 0
        assert_quiet(plugin)
        assert "database system is shut down" in (Path(made) / "postgres.log").read_text()


@pytest.mark.parametrize("workers", [1, 2])
async def test_under_nohup_a_terminal_may_close(migrated: str, workers: int) -> None:
    flags = ("--listen=127.0.0.1:0", f"--database-url={migrated}", f"--workers={workers}")
    with running(*flags, through="nohup") as plugin:
        plugin.signal_all(signal.SIGHUP)
        await asyncio.sleep(LONGER_THAN_A_STOP_SECONDS)
        assert plugin.process.poll() is None
        async with MemoryClient(plugin.address, timeout=60) as client:
            await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
        assert await asyncio.to_thread(plugin.stop) == 0


@pytest.mark.parametrize("order", [signal.SIGINT, signal.SIGTERM])
def test_workers_that_are_still_starting_stop_quietly(migrated: str, order: signal.Signals) -> None:
    flags = ("--listen=127.0.0.1:0", f"--database-url={migrated}", "--workers=2")
    with running(*flags) as plugin:
        while len(plugin.workers) < 2:
            time.sleep(0.01)
        signal_twice(plugin, order)
        assert plugin.exit_code() == 0
    assert_quiet(plugin)


def test_two_signals_while_it_waits_for_the_database_are_quiet_too() -> None:
    waiting = re.compile("waiting for the database")
    url = "--database-url=postgresql://u@127.0.0.1:1/d"
    with running("--listen=127.0.0.1:0", url, until=waiting) as plugin:
        signal_twice(plugin, signal.SIGINT)
        assert plugin.exit_code() == 0
    assert_quiet(plugin)
    assert not plugin.lines[-1].endswith("stopped")
