"""Only the database's clock decides what has expired; the plugin's own clock does not matter."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.cluster import Postgres, copy_database, directory
from tests.faults.plugin import Plugin, http, running_plugin

pytestmark = pytest.mark.anyio

STEPPED = Path(__file__).with_name("stepped_clock")
DAY = 24 * 60 * 60
NS = "/v1/namespaces/workspace:1"


@dataclass
class Stepped:
    """A plugin with a stepped clock, and a client of it."""

    plugin: Plugin
    client: httpx.AsyncClient
    file: Path

    def step(self, seconds: int) -> None:
        # In one go: the plugin must not read a file that is still empty.
        new = self.file.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self.file)

    async def write(self, content: str, expires_at: datetime | None) -> None:
        body: dict[str, Any] = {"content": content, "kind": "fact", "source": "user"}
        if expires_at is not None:
            body["expires_at"] = expires_at.isoformat()
        answer = await self.client.post(f"{NS}/memories", json=body)
        assert answer.status_code == 201, answer.text

    async def contents(self) -> set[str]:
        """The contents that a search or a listing returns."""
        asked = {"namespaces": ["workspace:1"]}
        found = []
        for path in ("/v1/search", "/v1/memories/list"):
            memories = (await self.client.post(path, json=asked)).json()["memories"]
            found.append({memory["content"] for memory in memories})
        return found[0] | found[1]


@asynccontextmanager
async def stepped(server: Postgres, folder: Path, seconds: int) -> AsyncIterator[Stepped]:
    file = folder / f"clock{seconds}"
    file.write_text(str(seconds))
    async with (
        running_plugin(
            server.url,
            "--janitor-interval=0.2",
            "--janitor-grace=0",
            environment={"PYTHONPATH": str(STEPPED), "STEPPED_CLOCK": str(file)},
        ) as plugin,
        http(plugin.address) as client,
    ):
        yield Stepped(plugin, client, file)


async def now(server: Postgres) -> datetime:
    rows = await server.fetch("SELECT clock_timestamp() AS now")
    moment: datetime = rows[0]["now"]
    return moment


async def test_plugins_a_day_fast_and_a_day_slow_expire_at_the_same_moment(
    postgres: Postgres, tmp_path: Path
) -> None:
    async with (
        stepped(postgres, tmp_path, DAY) as fast,
        stepped(postgres, tmp_path, -DAY) as slow,
    ):
        await fast.client.put(NS, json={"kind": "workspace"})
        start = await now(postgres)
        await fast.write("for long", start + timedelta(hours=1))
        await slow.write("for good", None)
        await slow.write("gone long ago", start - timedelta(hours=1))
        soon = await now(postgres) + timedelta(seconds=2)
        await fast.write("for a moment", soon)
        kept = {"for long", "for good"}
        while True:
            for plugin in (fast, slow):
                before = await now(postgres)
                seen = await plugin.contents()
                after = await now(postgres)
                assert seen - {"for a moment"} == kept
                if after < soon:
                    assert "for a moment" in seen, "expired too early"
                elif before >= soon:
                    assert "for a moment" not in seen, "expired too late"
            # The clocks are stepped while requests run, and swapped.
            fast.step(-DAY if after.microsecond % 2 else DAY)
            slow.step(DAY if after.microsecond % 2 else -DAY)
            if before >= soon:
                break
            await asyncio.sleep(0.05)
        assert fast.plugin.alarms == slow.plugin.alarms == []


async def test_a_namespace_expires_and_memories_are_dated_by_the_database(
    postgres: Postgres, tmp_path: Path
) -> None:
    async with stepped(postgres, tmp_path, DAY) as fast:
        start = await now(postgres)
        later = (start + timedelta(hours=1)).isoformat()
        made = await fast.client.put(NS, json={"kind": "workspace", "expires_at": later})
        assert made.status_code == 200, made.text + str(fast.plugin.alarms)
        assert start <= datetime.fromisoformat(made.json()["created_at"]) <= await now(postgres)
        await fast.write("dated", None)
        asked = {"namespaces": ["workspace:1"]}
        [found] = (await fast.client.post("/v1/search", json=asked)).json()["memories"]
        assert start <= datetime.fromisoformat(found["created_at"]) <= await now(postgres)
        # The janitor has also run several times, and checks the time itself.
        await asyncio.sleep(0.5)
        assert await fast.contents() == {"dated"}


async def test_the_plugin_really_has_another_clock(postgres: Postgres, tmp_path: Path) -> None:
    """Without this the tests above would show nothing."""
    async with stepped(postgres, tmp_path, DAY // 2) as ahead:
        [line] = [line for line in ahead.plugin.log.splitlines() if "listening" in line]
        logged = datetime.strptime(line.split()[0], "%H:%M:%S.%f")  # noqa: DTZ007 - a time of day
        true = (await now(postgres)).replace(tzinfo=None)
        apart = abs((logged - true.replace(year=1900, month=1, day=1)).total_seconds())
        assert abs(apart - DAY // 2) < 300


@pytest.fixture
def clock_directory() -> Iterator[Path]:
    """A directory with `clock.so`, which gives PostgreSQL a clock that can be stepped."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("did not run: there is no C compiler to build a clock for PostgreSQL with")
    with directory("clock") as made:
        source, library = STEPPED / "clock.c", made / "clock.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        yield made


@pytest.mark.slow
async def test_a_step_of_the_databases_clock_expires_and_revives_at_once(
    template: Path, clock_directory: Path
) -> None:
    clock = clock_directory / "step"
    clock.write_text("0")
    library = clock_directory / "clock.so"
    server = Postgres(
        clock_directory,
        environment={"LD_PRELOAD": str(library), "STEPPED_CLOCK": str(clock)},
    )
    copy_database(template, server)
    server.start()
    try:
        await server.ready()
        async with running_plugin(server.url) as plugin, http(plugin.address) as client:
            one = Stepped(plugin, client, clock)
            await client.put(NS, json={"kind": "workspace"})
            await one.write("for half an hour", await now(server) + timedelta(minutes=30))
            await one.write("for good", None)
            for step, left in ((3600, {"for good"}), (0, {"for good", "for half an hour"})):
                one.step(step)
                assert await one.contents() == left
            assert plugin.alarms == []
    finally:
        server.end()
