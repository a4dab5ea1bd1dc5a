"""How the time of a function grows with its text, whatever else the machine does."""

import time
from collections.abc import Callable

SMALL, LARGE = 8 * 1024, 64 * 1024
# Eight times the text may take eight times as long; quadratic growth would be 64 times.
MOST = 24.0
TRIES = 5


def assert_linear(function: Callable[[str], object], piece: str) -> None:
    """Compares 8 KiB and 64 KiB of a repeated piece: the best of a few tries of each.

    The processor time of this thread counts, so other processes do not.
    """
    small = (piece * SMALL)[:SMALL]
    large = (piece * (LARGE // len(piece) + 1))[:LARGE]
    ratio = 0.0
    for _ in range(TRIES):
        # Eight small runs, so that both sides are long enough for the clock.
        quick = _best(lambda: [function(small) for _ in range(8)], 3) / 8
        slow = _best(lambda: [function(large)], 2)
        ratio = slow / max(quick, 1e-7)
        if ratio <= MOST:
            return
    raise AssertionError(f"64 KiB of {piece!r} take {ratio:.0f} times as long as 8 KiB")


def _best(run: Callable[[], object], times: int) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.thread_time()
        run()
        best = min(best, time.thread_time() - start)
    return best
