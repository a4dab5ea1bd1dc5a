"""`memory-backfill -apply` while everything it needs is killed in turn: it ends with parity."""

import asyncio
import random
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.backfill import shell
from tests.faults.cluster import Postgres, running_postgres
from tests.faults.plugin import Plugin, running_plugin
from tests.integration.backfill.command import Command
from tests.integration.backfill.legacy import LegacyDatabase

pytestmark = pytest.mark.anyio

# Slow enough that every fault hits a copy in progress.
PACE = ("--max-rps=15", "--concurrency=2")
UNAVAILABLE = 3
KILLED = -9


@dataclass
class Migration:
    """The command, and everything that can be killed under it."""

    source: Postgres
    target: Postgres
    plugin: Plugin
    command: Command
    process: subprocess.Popen[str] | None = None

    async def apply(self) -> int:
        """Run the command to its end, whatever that is."""
        self.process = await asyncio.to_thread(shell.start, self.command, "-apply", *PACE)
        _, said = await asyncio.to_thread(self.process.communicate)
        code = self.process.returncode
        assert code in (0, UNAVAILABLE, KILLED), f"exit {code}: {said}"
        return code

    async def kill_plugin(self) -> None:
        self.plugin.kill()
        await asyncio.sleep(0.2)
        self.plugin.start()
        await self.plugin.ready()

    async def kill_source(self) -> None:
        await self._kill_server(self.source)

    async def kill_target(self) -> None:
        await self._kill_server(self.target)

    async def kill_command(self) -> None:
        if self.process is not None:
            self.process.kill()

    async def _kill_server(self, server: Postgres) -> None:
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(0.2)
        server.start()
        await server.ready()


@pytest.mark.parametrize(
    ("rows", "rounds"),
    [
        (8_000, 1),
        pytest.param(60_000, 5, marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
    ],
)
async def test_it_ends_with_parity(
    postgres: Postgres, template: Path, tmp_path: Path, rows: int, rounds: int
) -> None:
    async with running_postgres(template) as source, running_plugin(postgres.url) as plugin:
        await asyncio.to_thread(fill, source.url, rows)
        command = Command(source.url, plugin.address, tmp_path)
        migration = Migration(source, postgres, plugin, command)
        faults: list[Callable[[], Awaitable[None]]] = [
            migration.kill_plugin,
            migration.kill_target,
            migration.kill_source,
            migration.kill_command,
        ]

        async def kill_in_turn() -> None:
            for _ in range(rounds):
                for fault in random.sample(faults, len(faults)):
                    await asyncio.sleep(random.uniform(0.5, 2.0))
                    await fault()

        killing = asyncio.create_task(kill_in_turn())
        codes: list[int] = []
        while not killing.done():
            codes.append(await migration.apply())
        await killing
        assert await migration.apply() == 0, "nothing is killed any more"
        assert UNAVAILABLE in codes or KILLED in codes, "no kill was felt"
        code, out, said = await asyncio.to_thread(
            shell.run, command, "-verify", "--verify-all", "--no-extras"
        )
        assert code == 0, out + said
        count = await postgres.fetch("SELECT count(*) FROM memory_plugin.memory_records")
        assert count[0]["count"] == rows


def fill(url: str, rows: int) -> None:
    legacy = LegacyDatabase(url)
    root = legacy.workspace()
    legacy.fill(rows, root, *(legacy.workspace(parent=root) for _ in range(9)))
