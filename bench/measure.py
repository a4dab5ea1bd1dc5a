"""A measure: contestants that do the same work, run in turns, and what their ratio must reach."""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

# Contestants whose repeats differ by more than this cannot be told apart by a few percent.
_NOISY = 0.25


@dataclass(frozen=True)
class Sample:
    """What one turn of one contestant gave: the figure that counts, and others worth a look."""

    value: float
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """Contestants do the same; the first is divided by the second.

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
        pairs = zip(self.samples[names[0]], self.samples[names[1]], strict=True)
        if self.measure.better == "higher" or self.measure.at_most:
            return [ours.value / other.value for ours, other in pairs]
        return [other.value / ours.value for ours, other in pairs]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def noisy(self) -> bool:
        return any(self.spread(name) > _NOISY for name in self.samples)

    @property
    def verdict(self) -> str:
        """`reached`, `missed`, `too noisy to tell`, or nothing where no target was set."""
        must = self.measure.must
        if must is None:
            return ""
        kept = [ratio <= must if self.measure.at_most else ratio >= must for ratio in self.ratios]
        if any(kept) and not all(kept) and self.noisy:
            return "too noisy to tell"
        middle = self.ratio <= must if self.measure.at_most else self.ratio >= must
        return "reached" if middle else "missed"


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
