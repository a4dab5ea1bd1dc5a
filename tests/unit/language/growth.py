"""How the time of a function grows with its text, independent of the machine's load."""

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
    quick, slow = float("inf"), float("inf")
    for _ in range(TRIES):
        quick = min(quick, _time(function, small), _time(function, small))
        slow = min(slow, _time(function, large))
        if slow <= MOST * max(quick, 1e-6):
            return
    ratio = slow / quick
    raise AssertionError(f"64 KiB of {piece!r} take {ratio:.0f} times as long as 8 KiB")


def _time(function: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    function(text)
    return time.thread_time() - start
