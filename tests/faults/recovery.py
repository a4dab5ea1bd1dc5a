"""How soon a service recovers."""

import asyncio
from time import perf_counter

from tests.faults.history import History

# How long every client must be served without a failure before it counts as recovered.
_STEADY_SECONDS = 0.3
_FAILED = ("unavailable", "unreachable", "reset", "late")


async def assert_recovers(history: History, *, since: float, within: float) -> None:
    """From `since` on, the whole load must be served again within `within` seconds."""
    while True:
        calls = [call for call in reversed(history.calls[-2000:]) if call.end > since]
        failed = max((call.end for call in calls if call.outcome in _FAILED), default=since)
        served = [call for call in calls if call.start > failed]
        if served and perf_counter() > failed + _STEADY_SECONDS:
            assert failed < since + within, f"recovered only {failed - since:.1f} s later"
            return
        assert perf_counter() < since + within + 10, "not recovered"
        await asyncio.sleep(0.05)
