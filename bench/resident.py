"""The memory that a worker takes, at its peak over all measures before this one."""

from collections.abc import Iterator

from bench.measure import Measure, Sample
from bench.stage import Stage


def measures(stage: Stage) -> Iterator[Measure]:
    peak = stage.peak_bytes.get("worker")
    if peak is None:
        return
    yield Measure(
        name="resident",
        title="resident memory of a worker under this load",
        unit="MiB",
        contestants={"plugin": lambda: Sample(peak / 2**20)},
        must=150,
        at_most=True,
    )
