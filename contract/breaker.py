"""The circuit breaker: a plugin that keeps failing gets no requests for a while.

closed ── three failures in a row ──▶ open ── 60 s ──▶ half-open
   ▲                                   ▲                  │ one request, the probe
   └────────── any answer ─────────────┴──── it failed ───┘
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from contract.errors import BreakerOpen, MemoryPluginError, Unavailable

logger = logging.getLogger(__name__)


class Breaker:
    """Counts failed calls: no connection, no answer in time, or a 5xx, after all retries.

    Every other answer, a 4xx included, shows that the plugin is alive and ends the count.
    Clients of the same plugin may share one breaker, within one event loop.
    """

    def __init__(
        self,
        failures: int = 3,
        rest: float = 60.0,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowed = failures
        self._rest = rest
        self._clock = clock
        self._count = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        """`half-open` means that one probe may be sent, or is in flight."""
        if self._opened_at is None:
            return "closed"
        return "open" if self._rest_left() > 0 else "half-open"

    @contextmanager
    def call(self) -> Iterator[bool]:
        """Wraps one call: raises `BreakerOpen` instead of making it, else records how it ended.

        Yields whether the call is the probe, which is never retried.
        """
        probe = self._admit()
        try:
            yield probe
        except Unavailable as error:
            # 429 is an answer: the plugin is busy, not broken.
            if error.status >= 500:
                self._failed(probe)
            else:
                self._answered()
            raise
        except MemoryPluginError:
            self._answered()
            raise
        except BaseException:
            # Cancelled by the caller, which proves nothing: the next call may probe.
            if probe:
                self._probing = False
            raise
        self._answered()

    def _admit(self) -> bool:
        if self._opened_at is None:
            return False
        left = self._rest_left()
        if left > 0 or self._probing:
            raise BreakerOpen(
                f"the plugin failed {self._allowed} times in a row; the next request is allowed"
                f" in {max(left, 0.0):.0f} s",
                retry_after=max(left, 0.0),
            )
        self._probing = True
        return True

    def _answered(self) -> None:
        if self._opened_at is not None:
            logger.info("the memory plugin is available again")
        self._count = 0
        self._opened_at = None
        self._probing = False

    def _failed(self, probe: bool) -> None:
        if probe:
            self._probing = False
        elif self._opened_at is not None:
            # A call from before the breaker opened: it must not prolong the pause.
            return
        self._count += 1
        if probe or self._count >= self._allowed:
            self._opened_at = self._clock()
            logger.warning(
                "the memory plugin failed %d times in a row; no requests for %.0f s",
                self._count,
                self._rest,
            )

    def _rest_left(self) -> float:
        if self._opened_at is None:
            return 0.0
        return self._opened_at + self._rest - self._clock()
