"""Asking for health again and again, beside whatever else goes on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter

from tests.faults.meanwhile import meanwhile
from tests.faults.plugin import http

# The plugin answers within 2 s; a busy machine may take much more to hand the answer over.
HEALTH_SECONDS = 20.0
_INTERVAL = 0.1


@dataclass
class Pulse:
    """The answers so far: their status, and how long each took."""

    statuses: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def assert_steady(self) -> None:
        """Health answered throughout, in time, and with nothing but 200 and 503."""
        assert self.statuses
        assert set(self.statuses) <= {200, 503}
        assert max(self.seconds) < HEALTH_SECONDS


@asynccontextmanager
async def pulse(address: str) -> AsyncIterator[Pulse]:
    """Ask for health on a connection of its own as long as the context lasts."""
    taken = Pulse()

    async def ask() -> None:
        async with http(address, timeout=30.0) as client:
            while True:
                start = perf_counter()
                taken.statuses.append((await client.get("/v1/health")).status_code)
                taken.seconds.append(perf_counter() - start)
                await asyncio.sleep(_INTERVAL)

    async with meanwhile(ask()):
        yield taken
