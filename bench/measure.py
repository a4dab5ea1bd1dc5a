"""A measure: contestants that do the same work in turns, and a target for their ratio."""

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

# The chance that the true median is outside the extremes of five rounds.
_DOUBT = 2 * 0.5**5


@dataclass(frozen=True)
class Sample:
    """The result of one turn of one contestant: the figure that counts, and details."""

    value: float
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """Contestants do the same work; the first is compared with the others, mainly the second.

    If `better` is "lower" the ratio is inverted, so that higher is always better for the first.
    `at_most` is for a ratio, or a figure without a second contestant, that must stay below `must`.
    `note` explains the figure below the table.
    """

    name: str
    title: str
    unit: str
    contestants: Mapping[str, Callable[[], Sample]]
    better: Literal["higher", "lower"] = "higher"
    must: float | None = None
    aim: float | None = None
    at_most: bool = False
    note: str = ""


@dataclass(frozen=True)
class Result:
    """A measure with the samples of all its turns."""

    measure: Measure
    samples: Mapping[str, list[Sample]]

    def median(self, contestant: str) -> float:
        return statistics.median(sample.value for sample in self.samples[contestant])

    def spread(self, contestant: str) -> float:
        """The distance between the extremes, relative to the median."""
        values = [sample.value for sample in self.samples[contestant]]
        return (max(values) - min(values)) / (statistics.median(values) or 1)

    def detail(self, contestant: str, name: str) -> float | None:
        values = [s.details[name] for s in self.samples[contestant] if name in s.details]
        return statistics.median(values) if values else None

    @property
    def ratios(self) -> list[float]:
        """Ours divided by the other, round by round, so that noise affects both alike."""
        names = list(self.samples)
        if len(names) < 2:
            return [sample.value for sample in self.samples[names[0]]]
        return self.ratios_to(names[1])

    def ratios_to(self, other: str) -> list[float]:
        """The ratios of the first to one of the others."""
        pairs = zip(next(iter(self.samples.values())), self.samples[other], strict=True)
        if self.measure.better == "higher" or self.measure.at_most:
            return [ours.value / theirs.value for ours, theirs in pairs]
        return [theirs.value / ours.value for ours, theirs in pairs]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """The range that contains the true ratio with the probability `confidence`.

        With nine rounds or more the extremes are left out, so that more rounds narrow it.
        """
        left_out = _left_out(len(self.ratios))
        ordered = sorted(self.ratios)
        return ordered[left_out], ordered[-1 - left_out]

    @property
    def verdict(self) -> str:
        """`reached`, `missed`, `too noisy to tell`, or nothing if there is no target."""
        must = self.measure.must
        if must is None:
            return ""
        kept = [end <= must if self.measure.at_most else end >= must for end in self.interval]
        if all(kept):
            return "reached"
        return "too noisy to tell" if any(kept) else "missed"


def confidence(turns: int) -> float:
    """The probability that the interval of this many rounds contains the true median."""
    return 1 - _doubt(turns, _left_out(turns))


def _left_out(turns: int) -> int:
    """How many values to drop at each end of the interval."""
    doubts = [_doubt(turns, left_out) for left_out in range(turns // 2)]
    return max(0, sum(doubt <= _DOUBT for doubt in doubts) - 1)


def _doubt(turns: int, left_out: int) -> float:
    outside = sum(math.comb(turns, rank) for rank in range(left_out + 1))
    return float(outside / 2 ** (turns - 1))


def take_turns(measure: Measure, repeats: int, tell: Callable[[str], None]) -> Result:
    """Run the contestants in rounds; each round starts with a different one."""
    samples: dict[str, list[Sample]] = {name: [] for name in measure.contestants}
    names = list(measure.contestants)
    for turn in range(repeats):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            sample = measure.contestants[name]()
            samples[name].append(sample)
            tell(f"  {measure.name} {turn + 1}/{repeats} {name}: {sample.value:,.4g}")
    return Result(measure, samples)
