"""An apply that is killed, and the same command afterwards."""

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.acceptance.backfill import shell
from tests.acceptance.backfill.target import TargetPlugin
from tests.faults.plugin import Plugin, running_plugin
from tests.integration.backfill.command import Command
from tests.integration.backfill.legacy import LegacyDatabase, query_database
from tests.waiting import SECONDS, until

ROWS = 5000


@contextmanager
def half_done(
    command: Command, target: TargetPlugin, rows: int
) -> Iterator["subprocess.Popen[str]"]:
    """A copy that has written `rows` rows and is blocked until the context ends."""
    with target.stalling_at(rows):
        process = shell.start(command, "-apply", "--concurrency", "1")
        try:
            until(lambda: target.is_stalled() or process.poll() is not None, "it is not stalled")
            assert process.poll() is None, process.communicate()
            yield process
        except BaseException:
            process.kill()
            raise


def said_by(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """What it wrote on stdout and stderr by its end."""
    try:
        return process.communicate(timeout=SECONDS)
    finally:
        process.kill()


def says(process: "subprocess.Popen[str]", words: str) -> None:
    """Wait until it has written this on stderr."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if words in line:
            return
    raise AssertionError("".join(lines))


@pytest.mark.parametrize(
    ("rows", "how"),
    [(1, signal.SIGKILL), (3000, signal.SIGKILL), (2000, signal.SIGINT)],
)
def test_the_same_command_continues_after_a_kill(
    legacy: LegacyDatabase, target: TargetPlugin, backfill: Command, rows: int, how: signal.Signals
) -> None:
    root = legacy.workspace()
    legacy.fill(ROWS, root, legacy.workspace(parent=root))
    with half_done(backfill, target, rows) as process:
        process.send_signal(how)
    _, err = said_by(process)
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
            process = await asyncio.to_thread(cut_off, command, target, plugin)
            await asyncio.to_thread(says, process, "slowing down: the plugin cannot be reached")
            # A new process on the same socket.
            plugin.start()
            await plugin.ready()
            out, err = await asyncio.to_thread(said_by, process)
            assert process.returncode == 0, err
            assert f"written {ROWS:,}" in out
            assert await asyncio.to_thread(target.count) == ROWS

    asyncio.run(scenario())


def cut_off(command: Command, target: TargetPlugin, plugin: Plugin) -> "subprocess.Popen[str]":
    """A copy whose plugin is killed -9 when it is half done."""
    with half_done(command, target, 2000) as process:
        plugin.kill()
    return process


def test_a_lost_legacy_database_ends_the_run_and_the_same_command_continues(
    cluster: str, legacy: LegacyDatabase, target: TargetPlugin, backfill: Command
) -> None:
    legacy.fill(ROWS, legacy.workspace())
    # Early, because rows that have already been read are still written.
    with half_done(backfill, target, 1) as process:
        query_database(
            cluster,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'memory-backfill' AND datname = $1",
            legacy.url.partition("?")[0].rpartition("/")[2],
        )
    _, err = said_by(process)
    assert process.returncode == 3, err
    assert "the connection to the legacy database was lost" in err
    assert target.count() < ROWS
    assert backfill("-apply").code == 0
    assert target.count() == ROWS
