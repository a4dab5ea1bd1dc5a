"""The plugin's clock as seen from here: its time, and how certain that is.

The plugin decides by its own clock what has expired, and that clock may differ from ours by
minutes. A write reveals it: `created_at` lies between the moment the write was sent and the moment
it was answered.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from harness.exchange import Exchange

# A clock that is being adjusted may run this much faster or slower than ours for a while.
_DRIFT = 0.01


@dataclass(frozen=True)
class Sighting:
    """An exchange in the plugin's own time: it was served between `earliest` and `latest`."""

    earliest: datetime
    latest: datetime

    def was_before(self, moment: datetime) -> bool:
        """Whether it was certainly served before the moment."""
        return self.latest < moment

    def was_after(self, moment: datetime) -> bool:
        """Whether it was certainly served at the moment or after it."""
        return self.earliest >= moment


class PluginClock:
    """Converts the times of our exchanges to the plugin's time."""

    def __init__(self, write: Exchange, created_at: datetime) -> None:
        made = created_at.timestamp()
        self.read = write.received
        self.slowest = made - write.received
        self.fastest = made + _resolution(created_at) - write.sent

    def saw(self, exchange: Exchange) -> Sighting:
        """When an exchange was served, by the plugin's clock."""
        drift = _DRIFT * abs(exchange.received - self.read)
        return Sighting(
            _moment(exchange.sent + self.slowest - drift),
            _moment(exchange.received + self.fastest + drift),
        )

    def agrees_with(self, other: "PluginClock") -> bool:
        """Whether both readings can be right: they differ if the clock was set in between."""
        drift = _DRIFT * abs(other.read - self.read)
        return self.slowest <= other.fastest + drift and other.slowest <= self.fastest + drift

    def now(self) -> datetime:
        """About the time on the plugin's clock now."""
        return _moment(time.monotonic() + (self.slowest + self.fastest) / 2)


def _resolution(moment: datetime) -> float:
    """A plugin may truncate its times to the second or the millisecond."""
    if moment.microsecond == 0:
        return 1.0
    return 0.001 if moment.microsecond % 1000 == 0 else 0.000_001


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
