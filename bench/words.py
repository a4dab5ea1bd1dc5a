"""Text search: a rare word, and two common ones, over 3 of 200 namespaces."""

import random
from collections.abc import Callable, Iterator
from functools import partial

from bench import data, pgbench
from bench.load import post, send
from bench.measure import Measure, Sample
from bench.newest import CONNECTIONS, ROWS, namespaces, script
from bench.stage import Stage
from plugin_postgres import sql

_REQUESTS = 500


def requests(queries: Callable[[random.Random], str]) -> list[str]:
    generator = random.Random(4)
    return [
        post("/v1/search", {"namespaces": namespaces(generator), "query": queries(generator)})
        for _ in range(_REQUESTS)
    ]


def rare_word(rows: int) -> Callable[[random.Random], str]:
    """A word that one memory has, in or out of the three namespaces."""
    return lambda generator: f"rare{generator.randint(1, rows)}"


def common_words(_: random.Random) -> str:
    return " ".join(data.COMMON)


def measures(stage: Stage) -> Iterator[Measure]:
    rows = stage.scale(ROWS)
    rare, common = requests(rare_word(rows)), requests(common_words)
    statement = sql.load("search_text")
    rare_script = f"\\set n random(1, {rows})\n" + script(statement, "NULL", "20", "('rare' || :n)")
    common_script = script(statement, "NULL", "20", f"'{common_words(random.Random())}'")

    def through(plugin: str, asked: list[str]) -> Sample:
        return send(plugin, asked, connections=CONNECTIONS, seconds=stage.seconds)

    def directly(url: str, text: str) -> Sample:
        return pgbench.run(url, text, connections=CONNECTIONS, seconds=stage.seconds)

    with stage.database("words") as url:
        data.fill(url, 1, rows)
        with stage.plugin(url) as plugin:
            send(plugin, rare + common, connections=CONNECTIONS, seconds=1)
            for name, title, asked, text in (
                ("text rare", "text, a rare word", rare, rare_script),
                ("text common", "text, two words in 1 of 8 rows each", common, common_script),
            ):
                yield Measure(
                    name=name,
                    title=f"{title}, {rows:,} rows",
                    unit="requests/s",
                    contestants={
                        "plugin": partial(through, plugin, asked),
                        "pgbench": partial(directly, url, text),
                    },
                    must=0.4,
                )
            yield Measure(
                name="text common/rare",
                title="p50 of two common words against that of a rare word",
                unit="ms",
                contestants={
                    "common": lambda: _p50(through(plugin, common)),
                    "rare": lambda: _p50(through(plugin, rare)),
                },
                must=3.0,
                at_most=True,
            )


def _p50(sample: Sample) -> Sample:
    return Sample(sample.details["p50"], {"p99": sample.details["p99"], "rate": sample.value})
