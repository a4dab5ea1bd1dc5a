"""Text search: a rare word, and two common ones, over 3 of 200 namespaces."""

import random
from collections.abc import Iterator
from functools import partial

from bench import data, pgbench, plain
from bench.load import post, send
from bench.measure import Measure, Sample
from bench.newest import CONNECTIONS, ROWS, namespaces, script
from bench.stage import Stage
from plugin_postgres import sql

_REQUESTS = 500
# The arguments $4 to $6 of a search without a filter.
_NO_FILTER = ("NULL::jsonb", "NULL::timestamptz", "NULL::timestamptz")


def rare_requests(rows: int) -> list[str]:
    """Each asks for the word that one memory has, in its namespace and two others."""
    generator = random.Random(4)
    requests = []
    for _ in range(_REQUESTS):
        names, number = namespaces(generator), generator.randint(1, rows)
        names[number % 3] = f"workspace:{number % data.NAMESPACES}"
        requests.append(post("/v1/search", {"namespaces": names, "query": f"rare{number}"}))
    return requests


def common_requests() -> list[str]:
    generator = random.Random(4)
    query = " ".join(data.COMMON)
    return [
        post("/v1/search", {"namespaces": namespaces(generator), "query": query})
        for _ in range(_REQUESTS)
    ]


def measures(stage: Stage) -> Iterator[Measure]:
    rows = stage.scale(ROWS)
    rare, common = rare_requests(rows), common_requests()

    def rare_script(statement: str) -> str:
        # As in the requests, the first of the namespaces has the word.
        return script(statement, "NULL", "20", *_NO_FILTER, "('rare' || :n)").replace(
            "\\set a random(0, 65)", f"\\set n random(1, {rows})\n\\set a :n % {data.NAMESPACES}"
        )

    def common_script(statement: str) -> str:
        return script(statement, "NULL", "20", *_NO_FILTER, f"'{' '.join(data.COMMON)}'")

    def through(plugin: str, asked: list[str]) -> Sample:
        return send(plugin, asked, connections=CONNECTIONS, seconds=stage.seconds)

    def directly(url: str, text: str) -> Sample:
        return pgbench.run(url, text, connections=CONNECTIONS, seconds=stage.seconds)

    with stage.database("words") as url:
        data.fill(url, 1, rows)
        plain.copy_memories(url)
        with stage.plugin(url) as plugin:
            send(plugin, rare + common, connections=CONNECTIONS, seconds=1)
            for name, title, asked, scripted, must in (
                ("text rare", "text, a rare word", rare, rare_script, 0.8),
                ("text common", "text, two words in 1 of 8 rows each", common, common_script, 3.0),
            ):
                yield Measure(
                    name=name,
                    title=f"{title}, {rows:,} rows",
                    unit="requests/s",
                    contestants={
                        "plugin": partial(through, plugin, asked),
                        "a plain query in pgbench": partial(directly, url, scripted(plain.SEARCH)),
                        "our statement in pgbench": partial(
                            directly, url, scripted(sql.load("search_text"))
                        ),
                    },
                    must=must,
                )
            yield Measure(
                name="text common/rare",
                title="p50 of two common words, compared with a rare word",
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
