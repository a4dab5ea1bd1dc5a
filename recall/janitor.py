"""Removes expired turns, memories and summary runs from PostgreSQL."""

import asyncio
import contextlib
import random

from postgres.errors import StoreUnavailable
from recall.ledger import Ledger
from recall.summarisation import Runs

_SECONDS = 60.0


class Janitor:
    """Runs about once a minute in every worker; extra runs are harmless."""

    def __init__(self, ledger: Ledger, runs: Runs) -> None:
        self._ledger = ledger
        self._runs = runs

    async def run(self) -> None:
        """Clean up until cancelled."""
        while True:
            await asyncio.sleep(_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - not a secret
            with contextlib.suppress(StoreUnavailable):
                await self._ledger.sweep()
                await self._runs.sweep()
