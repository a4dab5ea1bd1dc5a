"""Polls the plugin's health in the background of a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter

from tests.faults.background import in_background
from tests.faults.plugin import http

# The plugin answers within 2 s; a busy machine may take much longer to deliver the answer.
HEALTH_SECONDS = 20.0
_INTERVAL = 0.1


@dataclass
class HealthProbe:
    """The responses so far: their status, and how long each took."""

    statuses: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def assert_steady(self) -> None:
        """Every response came in time and was 200 or 503."""
        assert self.statuses
        assert set(self.statuses) <= {200, 503}
        assert max(self.seconds) < HEALTH_SECONDS


@asynccontextmanager
async def probing_health(address: str) -> AsyncIterator[HealthProbe]:
    """Poll the health on a separate connection while the context lasts."""
    taken = HealthProbe()

    async def ask() -> None:
        async with http(address, timeout=30.0) as client:
            while True:
                start = perf_counter()
                taken.statuses.append((await client.get("/v1/health")).status_code)
                taken.seconds.append(perf_counter() - start)
                await asyncio.sleep(_INTERVAL)

    async with in_background(ask()):
        yield taken
