"""Whole questions of 10 and of 60 words against a rare word: what agents send before every turn."""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

from bench import data
from bench.load import post, send
from bench.measure import Measure, Sample
from bench.newest import ROWS, namespaces
from bench.stage import Stage

_REQUESTS = 300
_CONNECTIONS = 2
_ASIDES = (
    "because we talked about it before and I would like to know what they said then so please tell"
    " me whether it was the same as in the other case which you had noted for us when it came up"
)


def short_question(generator: random.Random, rows: int) -> str:
    """Ten words: five are function words, one is in every memory, the others are rarer."""
    number = generator.randint(1, rows)
    return (
        f"What did the agent note about u{number % 3000} and u{number * 7 % 3000}"
        f" {data.COMMON[number % 2]}?"
    )


def long_question(generator: random.Random) -> str:
    """Sixty words, a third of them rarer."""
    rarer = [f"u{generator.randrange(3000)}" for _ in range(16)] + list(data.COMMON)
    rarer += ["service", "short", "sources", "answers"]
    words = [*rarer, *_ASIDES.split()]
    generator.shuffle(words)
    return " ".join(words[:60]) + "?"


def requests(rows: int, count: int, kind: str) -> list[str]:
    """Searches over three of the namespaces, or over the only one."""
    generator = random.Random(5)
    made = []
    for _ in range(_REQUESTS):
        names = ["workspace:0"] if count == 1 else namespaces(generator)
        number = generator.randint(1, rows)
        if kind == "rare":
            names[0] = f"workspace:{number % count}"
            query = f"rare{number}"
        elif kind == "short":
            query = short_question(generator, rows)
        else:
            query = long_question(generator)
        made.append(post("/v1/search", {"namespaces": sorted(set(names)), "query": query}))
    return made


def measures(stage: Stage) -> Iterator[Measure]:
    cases = (
        ("600", 600, 1, (("10", "short", 2.5, 1.5), ("60", "long", 5.0, None))),
        ("65,000", stage.scale(65_000), 1, (("10", "short", 6.0, 3.0),)),
        ("3 of 200", stage.scale(ROWS), 200, (("10", "short", 6.0, 3.0),)),
    )
    for place, (name, rows, count, asked) in enumerate(cases):
        with ExitStack() as stack:
            url = stack.enter_context(stage.database(f"questions_{place}"))
            data.fill(url, 1, rows, namespaces=count)
            plugin = stack.enter_context(stage.plugin(url, workers=1))
            rare = requests(rows, count, "rare")
            for words, kind, must, aim in asked:
                questions = requests(rows, count, kind)
                send(plugin, questions + rare, connections=_CONNECTIONS, seconds=1)
                yield Measure(
                    name=f"question {words}/{name}",
                    title=f"p50 of a question of {words} words, compared with a rare word,"
                    f" {rows:,} rows in"
                    f" {'one namespace' if count == 1 else '200 namespaces, 3 searched'}",
                    unit="ms",
                    contestants={
                        "question": partial(_p50, plugin, questions, stage.seconds),
                        "rare word": partial(_p50, plugin, rare, stage.seconds),
                    },
                    must=must,
                    aim=aim,
                    at_most=True,
                )


def _p50(plugin: str, asked: list[str], seconds: float) -> Sample:
    sample = send(plugin, asked, connections=_CONNECTIONS, seconds=seconds)
    return Sample(sample.details["p50"], {"p99": sample.details["p99"], "rate": sample.value})
