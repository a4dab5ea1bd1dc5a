"""Searches with a filter that few, some or all memories pass, against the same without one."""

import random
from collections.abc import Iterator
from functools import partial

from bench import data
from bench.load import post, send
from bench.measure import Measure, Sample
from bench.newest import ROWS, namespaces
from bench.stage import Stage

_REQUESTS = 300
_CONNECTIONS = 2
# Of each namespace's memories, which are numbered in steps of 200: 1 in 1,000, 1 in 10, and all.
_PROPAGATION = """jsonb_build_object(
    'thousandth', n / 200 % 1000 = 7, 'tenth', n / 200 % 10 = 7, 'every', true, 'topic', n % 50
)"""
_FIELDS = {"0.1 %": "thousandth", "10 %": "tenth", "100 %": "every"}
_QUERIES = {
    "newest first": None,
    "two common words": " ".join(data.COMMON),
    "a question of 10 words": "What did the agent note about u7 and the harbour service?",
}


def _requests(query: str | None, where: dict[str, bool] | None) -> list[str]:
    generator = random.Random(6)
    asked = {"query": query, "where": where}
    body = {name: value for name, value in asked.items() if value is not None}
    return [
        post("/v1/search", {"namespaces": namespaces(generator), **body}) for _ in range(_REQUESTS)
    ]


def measures(stage: Stage) -> Iterator[Measure]:
    rows = stage.scale(ROWS)
    with stage.database("filters") as url:
        data.fill(url, 1, rows, propagation=_PROPAGATION)
        with stage.plugin(url, workers=1) as plugin:
            for kind, query in _QUERIES.items():
                unfiltered = _requests(query, None)
                for part, field in _FIELDS.items():
                    filtered = _requests(query, {field: True})
                    send(plugin, filtered + unfiltered, connections=_CONNECTIONS, seconds=1)
                    yield Measure(
                        name=f"filter {part} {kind}",
                        title=f"p50 of {kind} with a filter that {part} of {rows:,} rows pass,"
                        " against none",
                        unit="ms",
                        contestants={
                            "filtered": partial(_p50, plugin, filtered, stage.seconds),
                            "unfiltered": partial(_p50, plugin, unfiltered, stage.seconds),
                        },
                        must=5.0,
                        at_most=True,
                    )


def _p50(plugin: str, asked: list[str], seconds: float) -> Sample:
    sample = send(plugin, asked, connections=_CONNECTIONS, seconds=seconds)
    return Sample(sample.details["p50"], {"p99": sample.details["p99"], "rate": sample.value})
