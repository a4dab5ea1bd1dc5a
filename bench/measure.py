"""A measure: contestants that do the same work, run in turns, and what their ratio must reach."""

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

# How often the median lies outside the extremes of five turns.
_DOUBT = 2 * 0.5**5


@dataclass(frozen=True)
class Sample:
    """What one turn of one contestant gave: the figure that counts, and others worth a look."""

    value: float
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """Contestants do the same; the first is divided by the second, and in a note by the others.

    Where `better` is "lower" the ratio is turned round, so that more is always better for the
    first. `at_most` is for a ratio, or a figure without a contestant, that must stay below `must`.
    `note` says under the table why a figure is what it is.
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
        """The distance between the extremes, as a part of the median."""
        values = [sample.value for sample in self.samples[contestant]]
        return (max(values) - min(values)) / (statistics.median(values) or 1)

    def detail(self, contestant: str, name: str) -> float | None:
        values = [s.details[name] for s in self.samples[contestant] if name in s.details]
        return statistics.median(values) if values else None

    @property
    def ratios(self) -> list[float]:
        """Ours against the other, turn by turn: what disturbs one turn disturbs both."""
        names = list(self.samples)
        if len(names) < 2:
            return [sample.value for sample in self.samples[names[0]]]
        return self.ratios_to(names[1])

    def ratios_to(self, other: str) -> list[float]:
        """Of the first to one of the others."""
        pairs = zip(next(iter(self.samples.values())), self.samples[other], strict=True)
        if self.measure.better == "higher" or self.measure.at_most:
            return [ours.value / theirs.value for ours, theirs in pairs]
        return [theirs.value / ours.value for ours, theirs in pairs]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """Between these the ratio lies: as surely as in five turns, or less so in fewer.

        Of nine turns or more the extremes are left out, so that more turns tell more.
        """
        turns = len(self.ratios)
        outside = [
            sum(math.comb(turns, rank) for rank in range(left_out + 1)) / 2 ** (turns - 1)
            for left_out in range(turns // 2)
        ]
        left_out = max(0, sum(doubt <= _DOUBT for doubt in outside) - 1)
        ordered = sorted(self.ratios)
        return ordered[left_out], ordered[-1 - left_out]

    @property
    def verdict(self) -> str:
        """`reached`, `missed`, `too noisy to tell`, or nothing where no target was set."""
        must = self.measure.must
        if must is None:
            return ""
        kept = [end <= must if self.measure.at_most else end >= must for end in self.interval]
        if all(kept):
            return "reached"
        return "too noisy to tell" if any(kept) else "missed"


def take_turns(measure: Measure, repeats: int, tell: Callable[[str], None]) -> Result:
    """Run the contestants in turns; every round begins with another one."""
    samples: dict[str, list[Sample]] = {name: [] for name in measure.contestants}
    names = list(measure.contestants)
    for turn in range(repeats):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            sample = measure.contestants[name]()
            samples[name].append(sample)
            tell(f"  {measure.name} {turn + 1}/{repeats} {name}: {sample.value:,.4g}")
    return Result(measure, samples)
