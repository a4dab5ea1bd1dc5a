"""Text search: a rare word, and two common ones, over 3 of 200 namespaces."""

import random
from collections.abc import Iterator
from functools import partial

from bench import data, pgbench, plain
from bench.load import post, send
from bench.measure import Measure, Sample
from bench.newest import CONNECTIONS, PGBENCH_NAMES, ROWS, namespaces, script
from bench.stage import Stage
from plugin_postgres import sql

_REQUESTS = 500


def rare_requests(rows: int) -> list[str]:
    """Each searches for a word that one memory has, in its namespace and two others."""
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

    def with_rare(text: str) -> str:
        # As in the requests, the first of the namespaces has the word.
        return text.replace(
            "\\set a random(0, 65)", f"\\set n random(1, {rows})\n\\set a :n % {data.NAMESPACES}"
        )

    rare_plain = with_rare(script(plain.SEARCH, "20", "('rare' || :n)"))
    rare_ours = with_rare(_script_of_all("('''@rare' || :n || ''':*')", "('rare' || :n)::tsquery"))
    common_plain = script(plain.SEARCH, "20", f"'{' '.join(data.COMMON)}'")
    common_ours = _script_of_all("'''@harbour'' & ''@lantern'''", "NULL::tsquery")

    def through(plugin: str, asked: list[str]) -> Sample:
        return send(plugin, asked, connections=CONNECTIONS, seconds=stage.seconds)

    def directly(url: str, text: str) -> Sample:
        return pgbench.run(url, text, connections=CONNECTIONS, seconds=stage.seconds)

    with stage.database("words") as url:
        data.fill(url, 1, rows)
        plain.copy_memories(url)
        with stage.plugin(url) as plugin:
            send(plugin, rare + common, connections=CONNECTIONS, seconds=1)
            for name, title, asked, theirs, ours, must in (
                ("text rare", "text, a rare word", rare, rare_plain, rare_ours, 0.8),
                (
                    "text common",
                    "text, two words in 1 of 8 rows each",
                    common,
                    common_plain,
                    common_ours,
                    3.0,
                ),
            ):
                yield Measure(
                    name=name,
                    title=f"{title}, {rows:,} rows",
                    unit="requests/s",
                    contestants={
                        "plugin": partial(through, plugin, asked),
                        "a plain query in pgbench": partial(directly, url, theirs),
                        "our statement in pgbench": partial(directly, url, ours),
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


def _script_of_all(template: str, word: str) -> str:
    """The statement that answers a short query, for pgbench."""
    keys = (
        f"(SELECT memory_plugin.search_in({template}, array_agg(memory_plugin.search_mark(name)))"
        f" FROM unnest({PGBENCH_NAMES}) AS name)"
    )
    # The last ones are the phrase, the query as it was written, and whether it is a question.
    others = ("NULL", "NULL", "false")
    return script(sql.load("search_all"), "NULL", "20", "NULL::jsonb", "600", keys, word, *others)


def _p50(sample: Sample) -> Sample:
    return Sample(sample.details["p50"], {"p99": sample.details["p99"], "rate": sample.value})
