"""One key with many writers and readers: checks that some order of events explains all reads.

Every write of a key has a distinct value, so a read identifies the write that it saw. A value is
then known to have been present from `settled` (the earliest moment by which somebody was told about
it) to `asked` (the latest start of a read that returned it). Gibbons and Korach ("Testing shared
memories", 1997) show that such a history is atomic if and only if

- no two values were known to be present over intervals that overlap, and - no value had to be
present within an interval that belongs to another.

A write of unknown outcome that nobody saw has `settled` in the infinite future and contradicts
nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf


@dataclass(slots=True)
class Value:
    """What is known about one value of a key; None is its absence."""

    name: str | None
    asked: float
    settled: float = inf

    def seen(self, start: float, end: float) -> None:
        """A read that started at `start` returned this value at `end`."""
        self.asked = max(self.asked, start)
        self.settled = min(self.settled, end)

    @property
    def lasted(self) -> bool:
        """Known to have been present over an interval, not only at some moment within one."""
        return self.settled < self.asked

    @property
    def span(self) -> tuple[float, float]:
        return min(self.settled, self.asked), max(self.settled, self.asked)


@dataclass(slots=True)
class AtomicRegister:
    """The history of one key, which is absent at first and may be forgotten once, permanently."""

    key: str
    absent: Value = field(default_factory=lambda: Value(None, -inf, -inf))
    values: dict[str, Value] = field(default_factory=dict)
    forgotten: Value | None = None

    def write_begins(self, value: str, start: float) -> None:
        """A write, or the exact repeat of one whose outcome is unknown."""
        self.values.setdefault(value, Value(value, start))

    def write_ends(self, value: str, end: float) -> None:
        """The write was acknowledged."""
        known = self.values[value]
        known.settled = min(known.settled, end)

    def forget_begins(self, start: float) -> None:
        if self.forgotten is None:
            self.forgotten = Value(None, start)

    def forget_ends(self, end: float) -> None:
        """The forget was acknowledged."""
        if self.forgotten is not None:
            self.forgotten.settled = min(self.forgotten.settled, end)

    def seen(self, value: str | None, start: float, end: float) -> None:
        """A read between `start` and `end` returned this value."""
        if value is not None:
            self.values[value].seen(start, end)
        elif self.forgotten is not None and any(
            known.settled < start for known in (self.forgotten, *self.values.values())
        ):
            self.forgotten.seen(start, end)
        else:
            self.absent.seen(start, end)

    def contradictions(self) -> Iterator[str]:
        """One sentence for each pair of values that cannot both be explained."""
        known = [self.absent, *self.values.values()]
        if self.forgotten is not None:
            known.append(self.forgotten)
        lasting = sorted((value for value in known if value.lasted), key=lambda v: v.span)
        for one, other in pairwise(lasting):
            if other.span[0] < one.span[1]:
                yield self._sentence(one, other)
        for value in known:
            for holder in lasting:
                if not value.lasted and _within(value.span, holder.span):
                    yield self._sentence(holder, value)

    def _sentence(self, one: Value, other: Value) -> str:
        if self.absent in (one, other):
            what = "lost: absent after it was acknowledged or seen"
        elif self.forgotten in (one, other):
            what = "came back: seen after it was forgotten"
        else:
            what = "went back in time"
        return f"{self.key} {what} ({_described(one)}; {_described(other)})"


def _within(inner: tuple[float, float], outer: tuple[float, float]) -> bool:
    return outer[0] < inner[0] and inner[1] < outer[1]


def _described(value: Value) -> str:
    return f"{value.name or 'absent'} from {value.settled:.6f} still at {value.asked:.6f}"
