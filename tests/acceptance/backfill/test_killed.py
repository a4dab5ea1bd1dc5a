"""An apply that is killed, and the same command afterwards."""

import asyncio
import signal
import subprocess
import time

import pytest

from tests.acceptance.backfill import shell
from tests.acceptance.backfill.target import TargetPlugin
from tests.faults.plugin import Plugin, running_plugin
from tests.integration.backfill.command import Command
from tests.integration.backfill.legacy import LegacyDatabase, query_database

ROWS = 5000


def wait_for_rows(target: TargetPlugin, rows: int, process: subprocess.Popen[str]) -> None:
    """Return when the target has `rows` rows and the copy is not done."""
    deadline = time.monotonic() + 60
    while target.count() < rows:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("rows", "how"),
    [(1, signal.SIGKILL), (3000, signal.SIGKILL), (2000, signal.SIGINT)],
)
def test_the_same_command_goes_on_where_it_was_killed(
    legacy: LegacyDatabase, target: TargetPlugin, backfill: Command, rows: int, how: signal.Signals
) -> None:
    root = legacy.workspace()
    legacy.fill(ROWS, root, legacy.workspace(parent=root))
    process = shell.start(backfill, "-apply", "--max-rps", "4", "--concurrency", "1")
    try:
        wait_for_rows(target, rows, process)
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    if how != signal.SIGKILL:
        assert process.returncode == 3
        assert "interrupted" in err
    there = target.count()
    assert rows <= there < ROWS
    before = target.versions()
    went_on = backfill("-apply")
    assert went_on.code == 0
    assert went_on.report["unchanged"] == there
    assert target.count() == ROWS
    assert before < target.versions()
    assert backfill("-verify", "--no-extras").code == 0


def test_a_plugin_that_is_killed_and_comes_back_is_waited_for(
    legacy: LegacyDatabase, migrated: str, backfill: Command
) -> None:
    legacy.fill(ROWS, legacy.workspace())

    async def scenario() -> None:
        async with running_plugin(migrated) as plugin:
            target = TargetPlugin(plugin.listen, migrated)
            command = Command(legacy.url, plugin.listen, backfill.directory)
            process = shell.start(command, "-apply", "--max-rps", "4", "--concurrency", "1")
            try:
                await asyncio.to_thread(wait_for_rows, target, 2000, process)
                await restart(plugin)
                out, err = await asyncio.to_thread(process.communicate, timeout=60)
            finally:
                process.kill()
            assert process.returncode == 0, err
            assert "slowing down: the plugin cannot be reached" in err
            assert f"written {ROWS:,}" in out
            assert await asyncio.to_thread(target.count) == ROWS

    asyncio.run(scenario())


async def restart(plugin: Plugin) -> None:
    """kill -9, a moment of nothing, and a new process on the same socket."""
    plugin.kill()
    await asyncio.sleep(0.5)
    plugin.start()
    await plugin.ready()


def test_a_legacy_database_that_goes_away_ends_the_run_and_the_same_command_goes_on(
    cluster: str, legacy: LegacyDatabase, target: TargetPlugin, backfill: Command
) -> None:
    legacy.fill(ROWS, legacy.workspace())
    process = shell.start(backfill, "-apply", "--max-rps", "4", "--concurrency", "1")
    try:
        wait_for_rows(target, 2000, process)
        query_database(
            cluster,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'memory-backfill' AND datname = $1",
            legacy.url.partition("?")[0].rpartition("/")[2],
        )
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 3, err
    assert "the connection to the legacy database was lost" in err
    assert target.count() < ROWS
    assert backfill("-apply").code == 0
    assert target.count() == ROWS
