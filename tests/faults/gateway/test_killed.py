"""Ruling 13 and 27: whatever is killed at any step, every message ends up in exactly one memory.

Relays sit between the gateway and its database, and between the gateway and the plugin. Every
packet is a step. The test counts the steps of one add and one flush, and then repeats both, killing
the gateway, the plugin or PostgreSQL at the first step, at the second, and so on. The client
retries what was not answered, as clients do.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.faults.cluster import Postgres, directory, running_postgres
from tests.faults.gateway.process import Gateway
from tests.faults.gateway.relay import relay
from tests.faults.plugin import Plugin, running_plugin

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(3600)]

TARGETS = ("gateway", "plugin", "postgres", "wire")
KILLS = 200
_CLOCK = itertools.count(1_780_000_000_000)


@dataclass
class Stage:
    """All processes, and what happens at which step."""

    postgres: Postgres
    plugin: Plugin
    gateway: Gateway
    credentials: dict[str, str] = field(default_factory=dict)
    steps: int = 0
    at: int | None = None
    strike: Callable[[], None] = lambda: None
    struck: asyncio.Event = field(default_factory=asyncio.Event)
    kills: Counter[str] = field(default_factory=Counter)

    async def step(self, _name: str) -> bool:
        """Called before every packet; False drops it together with the connection."""
        number, self.steps = self.steps, self.steps + 1
        if self.at is None or number != self.at:
            return True
        self.at = None
        self.strike()
        self.struck.set()
        return False

    def arm(self, target: str, step: int) -> None:
        def kill() -> None:
            self.kills[target] += 1
            if target == "gateway":
                self.gateway.kill()
            elif target == "plugin":
                self.plugin.kill()
            elif target == "postgres":
                self.postgres.kill()

        self.struck.clear()
        self.steps, self.at, self.strike = 0, step, kill

    async def restart(self, target: str) -> None:
        """Restart it, like a supervisor."""
        await self.struck.wait()
        if target == "postgres":
            self.postgres.start()
            await self.postgres.ready()
        elif target == "plugin":
            self.plugin.start()
            await self.plugin.ready()
        elif target == "gateway":
            self.gateway.start()

    async def say(self, session: str, marks: list[str]) -> None:
        """Add a turn for each mark, and flush, until both are answered."""
        messages = [
            {"sender_id": "ann", "role": role, "timestamp": next(_CLOCK), "content": text}
            for mark in marks
            for role, text in (("user", f"Say {mark} please"), ("assistant", "Well."))
        ]
        body: dict[str, Any] = {**self.credentials, "session_id": session}
        added = await self.gateway.insist("/memories/add", {**body, "messages": messages})
        assert added["message_count"] == len(messages)
        await self.gateway.insist("/memories/flush", body)

    async def found(self) -> Counter[str]:
        """How often the plugin has each mark."""
        rows = await self.postgres.fetch("SELECT content FROM memory_plugin.memory_records")
        words = (word for row in rows for word in row["content"].split())
        return Counter(word for word in words if word.startswith("mark-"))

    async def all_done(self) -> None:
        """Wait until the gateway has written everything to the plugin."""
        async with asyncio.timeout(60):
            while True:
                [row] = await self.postgres.fetch(
                    "SELECT (SELECT count(*) FROM memory_gateway.batches)"
                    " + (SELECT count(*) FROM memory_gateway.messages WHERE content IS NOT NULL)"
                )
                if not row[0]:
                    return
                await asyncio.sleep(0.1)


@asynccontextmanager
async def stage(template: Path, workers: int = 1) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(running_postgres(template))
        plugin = await stack.enter_async_context(running_plugin(postgres.url))
        made = stack.enter_context(directory("gw"))
        database = made / f".s.PGSQL.{postgres.port}"
        url = f"postgresql://postgres@/postgres?host={quote(str(made))}&port={postgres.port}"
        gateway = Gateway(made, url, made / "relayed.sock", workers)
        all_of_it = Stage(postgres, plugin, gateway)
        own = postgres.directory / database.name
        at = Path(plugin.listen.removeprefix("unix:"))
        await stack.enter_async_context(relay(database, own, "database", all_of_it.step))
        await stack.enter_async_context(relay(gateway.plugin, at, "plugin", all_of_it.step))
        gateway.start()
        stack.callback(gateway.kill)
        await gateway.ready()
        user = await gateway.insist("/users", {"user_id": "ann"})
        all_of_it.credentials = {"user_id": "ann", "user_key": user["user_key"]}
        yield all_of_it


async def test_ruling_13_a_kill_at_any_step_loses_and_duplicates_nothing(
    gateway_template: Path,
) -> None:
    async with stage(gateway_template) as it:
        await it.say("warm", ["mark-warm"])
        it.steps = 0
        await it.say("count", ["mark-count"])
        steps = it.steps
        assert steps >= 10
        marks = ["mark-warm", "mark-count"]
        turns = itertools.product(range(steps), TARGETS)
        for number, (step, target) in enumerate(itertools.cycle(turns)):
            if number >= steps * len(TARGETS) and it.kills.total() >= KILLS:
                break
            # A new session has more steps, so in an existing one the last kills miss. The third
            # flush of a session does not read it; every kind of kill meets each of the three.
            session = f"s{number // 3}"
            marks.append(f"mark-{number}")
            it.arm(target, step)
            async with asyncio.TaskGroup() as group:
                restart = group.create_task(it.restart(target))
                await it.say(session, [marks[-1]])
                if not it.struck.is_set():
                    it.at = None
                    restart.cancel()
        await it.gateway.ready()
        await it.all_done()
        assert await it.found() == Counter(marks)
        assert set(it.kills) == set(TARGETS)
        assert "Traceback" not in it.gateway.log, it.gateway.log[-5000:]


async def test_ruling_13_twenty_clients_two_workers_and_kills_at_random(
    gateway_template: Path,
) -> None:
    chance = random.Random(7)
    async with stage(gateway_template, workers=2) as it:
        marks: list[str] = []

        async def client(number: int) -> None:
            for turn in range(12):
                mine = [f"mark-{number}-{turn}-{part}" for part in range(2)]
                marks.extend(mine)
                # Four clients share a session, and flush each other's messages.
                await it.say(f"shared{number % 5}", mine)

        async def trouble() -> None:
            while True:
                target = chance.choice(TARGETS)
                it.arm(target, chance.randrange(40, 400))
                await it.restart(target)

        troubling = asyncio.create_task(trouble())
        await asyncio.gather(*map(client, range(20)))
        troubling.cancel()
        with suppress(asyncio.CancelledError):
            await troubling
        it.at = None
        for again in ("postgres", "plugin", "gateway"):
            if again == "postgres" and not it.postgres.running:
                it.postgres.start()
                await it.postgres.ready()
            if again == "plugin" and not it.plugin.running:
                it.plugin.start()
                await it.plugin.ready()
        it.gateway.kill()
        it.gateway.start()
        await it.gateway.ready()
        await it.all_done()
        assert await it.found() == Counter(marks)
        assert sum(it.kills.values()) >= 3
