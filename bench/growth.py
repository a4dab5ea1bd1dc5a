"""How latency grows with the number of memories, for searches over the same 3 of 200 namespaces."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

from bench import data, questions, words
from bench.load import send
from bench.measure import Measure, Sample
from bench.newest import CONNECTIONS, requests
from bench.stage import Stage

SIZES = (1_000_000, 10_000, 100_000)


def measures(stage: Stage) -> Iterator[Measure]:
    sizes = [stage.scale(size) for size in SIZES]
    with ExitStack() as stack:
        plugins = {}
        for size in sizes:
            url = stack.enter_context(stage.database(f"growth_{size}"))
            data.fill(url, 1, size)
            plugins[size] = stack.enter_context(stage.plugin(url, workers=1))
        kinds: dict[str, Callable[[int], list[str]]] = {
            "newest-first": lambda _: requests(),
            "a rare word": lambda size: words.rare_requests(size),
            "two common words": lambda _: words.common_requests(),
            "a question of 10 words": lambda size: questions.requests(size, 200, "short"),
        }
        for kind, make in kinds.items():
            asked = {size: make(size) for size in sizes}
            for size in sizes:
                send(plugins[size], asked[size], connections=CONNECTIONS, seconds=1)
            yield Measure(
                name=f"growth: {kind}",
                title=f"{kind}: p50 at {sizes[0]:,} rows, compared with {sizes[1]:,}",
                unit="ms",
                contestants={
                    f"{size:,}": partial(_latency, plugins[size], asked[size], stage.seconds)
                    for size in sizes
                },
                must=1.5 if kind in ("newest-first", "a question of 10 words") else None,
                aim=1.0 if kind == "newest-first" else None,
                at_most=True,
            )


def _latency(plugin: str, asked: list[str], seconds: float) -> Sample:
    sample = send(plugin, asked, connections=CONNECTIONS, seconds=seconds)
    details = {"p99": sample.details["p99"], "rate": sample.value}
    return Sample(sample.details["p50"], details)
