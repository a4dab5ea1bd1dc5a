"""Newest first over 3 of 200 namespaces: the search that runs before every turn of an agent."""

import random
import re
from collections.abc import Iterator

from bench import data, pgbench
from bench.load import post, send
from bench.measure import Measure
from bench.stage import Stage
from plugin_postgres import sql

CONNECTIONS = 32
ROWS = 200_000
_REQUESTS = 500

# Three different namespaces, as the requests have them.
PGBENCH_NAMESPACES = """\\set a random(0, 65)
\\set b random(66, 131)
\\set c random(132, 199)
"""
PGBENCH_NAMES = "ARRAY[" + ", ".join(f"'workspace' || chr(58) || :{it}" for it in "abc") + "]"


def namespaces(generator: random.Random) -> list[str]:
    """Three of the 200."""
    places = (generator.randint(0, 65), generator.randint(66, 131), generator.randint(132, 199))
    return [f"workspace:{place}" for place in places]


def requests() -> list[str]:
    generator = random.Random(1)
    return [post("/v1/search", {"namespaces": namespaces(generator)}) for _ in range(_REQUESTS)]


def script(statement: str, *arguments: str) -> str:
    """A statement of the plugin for pgbench: $1 is three namespaces, the others as given."""
    given = (PGBENCH_NAMES, *arguments)
    text = re.sub(r"--.*", "", statement)
    text = re.sub(r"\$(\d+)", lambda place: given[int(place[1]) - 1], text)
    return f"{PGBENCH_NAMESPACES}{' '.join(text.split())};\n"


# The obvious first version, which sorts everything in the namespaces.
_NAIVE = """
SELECT id, namespace, content, kind, source, created_at, expires_at, propagation, pin
FROM memory_plugin.memory_records
WHERE namespace = ANY($1) AND (expires_at IS NULL OR expires_at > now())
ORDER BY pin DESC, created_at DESC, id
LIMIT $2
"""


def measures(stage: Stage) -> Iterator[Measure]:
    with stage.database("newest") as url:
        data.fill(url, 1, stage.scale(ROWS))
        with stage.plugin(url) as plugin:
            asked = requests()
            send(plugin, asked, connections=CONNECTIONS, seconds=1)
            yield Measure(
                name="newest",
                title=f"newest-first over 3 of 200 namespaces, {stage.scale(ROWS):,} rows",
                unit="requests/s",
                contestants={
                    "plugin": lambda: send(
                        plugin, asked, connections=CONNECTIONS, seconds=stage.seconds
                    ),
                    "pgbench": lambda: pgbench.run(
                        url,
                        script(sql.load("search_newest"), "20"),
                        connections=CONNECTIONS,
                        seconds=stage.seconds,
                    ),
                    "a naive query in pgbench": lambda: pgbench.run(
                        url,
                        script(_NAIVE, "20"),
                        connections=CONNECTIONS,
                        seconds=stage.seconds,
                    ),
                },
                must=0.5,
                aim=0.8,
            )
