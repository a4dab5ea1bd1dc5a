"""Polls the plugin's health in the background of a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter

from tests.faults.background import in_background
from tests.faults.plugin import http
from tests.waiting import eventually

_INTERVAL = 0.1


@dataclass
class HealthProbe:
    """The responses so far: when each was asked for, and its status."""

    answers: list[tuple[float, int]] = field(default_factory=list)

    async def answers_now(self, *statuses: int) -> None:
        """Wait for a response to a request that is sent from now on, with one of the statuses."""
        since = perf_counter()
        await eventually(
            lambda: any(asked > since and status in statuses for asked, status in self.answers),
            f"health does not answer {statuses}: {self.answers[-3:]}",
        )

    def assert_steady(self) -> None:
        """Every response was 200 or 503."""
        assert self.answers
        assert {status for _, status in self.answers} <= {200, 503}


@asynccontextmanager
async def probing_health(address: str) -> AsyncIterator[HealthProbe]:
    """Poll the health on a separate connection while the context lasts."""
    taken = HealthProbe()

    async def ask() -> None:
        async with http(address) as client:
            while True:
                start = perf_counter()
                taken.answers.append((start, (await client.get("/v1/health")).status_code))
                await asyncio.sleep(_INTERVAL)

    async with in_background(ask()):
        yield taken
