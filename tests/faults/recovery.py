"""Whether a service recovers."""

from time import perf_counter

from tests.faults.history import History
from tests.waiting import eventually

# How long every client must be served without a failure before it counts as recovered.
_STEADY_SECONDS = 0.3
_FAILED = ("unavailable", "unreachable", "reset", "late")


async def assert_recovers(history: History, *, since: float) -> None:
    """From `since` on, the whole load must be served again."""

    def is_recovered() -> bool:
        calls = [call for call in reversed(history.calls[-2000:]) if call.end > since]
        failed = max((call.end for call in calls if call.outcome in _FAILED), default=since)
        served = [call for call in calls if call.start > failed]
        return bool(served) and perf_counter() > failed + _STEADY_SECONDS

    await eventually(is_recovered, "not recovered")
