"""The peak memory of a worker over all measures before this one."""

from collections.abc import Iterator
from functools import partial

from bench.measure import Measure, Sample
from bench.stage import Stage


def measures(stage: Stage) -> Iterator[Measure]:
    """The peak of the plugin."""
    return of_worker(stage, "memory-plugin-postgres", "resident", "plugin")


def of_worker(
    stage: Stage, command: str, name: str, contestant: str, aim: float | None = None
) -> Iterator[Measure]:
    """The peak of any command that the stage has run."""
    peak = stage.peak_bytes.get(command)
    if peak is None:
        return
    yield Measure(
        name=name,
        title=f"resident memory of a {contestant} worker under this load",
        unit="MiB",
        contestants={contestant: partial(Sample, peak / 2**20)},
        must=150,
        aim=aim,
        at_most=True,
    )
