"""Comparison with what a Python team might use instead: the LangGraph PostgreSQL store.

The same server, durability, texts and embeddings. The store runs inside its client's process; the
plugin is called over HTTP.
"""

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from bench import data, embeddings, writes
from bench.load import post, send
from bench.measure import Measure, Sample
from bench.stage import Stage, connection

_TASKS = 32
_ROWS = 100_000
_VECTORS = 10_000
_DIMENSION = 384
_WRITE_NOTE = (
    "the store is called inside its client, without HTTP, and indexes no words; the plugin makes"
    " every memory searchable by its words before it answers"
)


def measures(stage: Stage) -> Iterator[Measure]:
    if find_spec("langgraph") is None:
        raise RuntimeError("the LangGraph store is not installed; run `make bench`")
    yield from _memories(stage)
    yield from _vectors(stage)


def _memories(stage: Stage) -> Iterator[Measure]:
    rows = stage.scale(_ROWS)
    with (
        stage.database("langgraph_ours") as url,
        stage.database("langgraph_theirs", migrated=False) as other,
    ):
        data.fill(url, 1, rows)
        _store(other, work="fill", rows=rows)
        generator = random.Random(5)
        single, batches = writes.single_requests(), writes.batch_requests()
        searches = [
            post("/v1/search", {"namespaces": [f"workspace:{generator.randrange(200)}"]})
            for _ in range(500)
        ]

        def theirs(work: str, tasks: int = _TASKS, times: int = 1) -> Sample:
            sample = _store(other, work=work, tasks=tasks, seconds=stage.seconds)
            return Sample(sample.value * times, sample.details)

        def ours(asked: list[str], connections: int = _TASKS, times: int = 1) -> Sample:
            sample = send(plugin, asked, connections=connections, seconds=stage.seconds)
            return Sample(sample.value * times, sample.details)

        with stage.plugin(url) as plugin:
            yield Measure(
                name="langgraph put",
                title="put one memory, 32 at once",
                unit="memories/s",
                note=_WRITE_NOTE,
                contestants={
                    "plugin": lambda: ours(single),
                    "LangGraph store": lambda: theirs("put"),
                },
            )
            yield Measure(
                name="langgraph batch",
                title="put 500 memories at once",
                unit="memories/s",
                note=_WRITE_NOTE,
                contestants={
                    "plugin": lambda: ours(batches, connections=4, times=writes.BATCH),
                    "LangGraph store": lambda: theirs("batch", tasks=4, times=writes.BATCH),
                },
            )
            yield Measure(
                name="langgraph search",
                title=f"search one of 200 namespaces, {rows:,} rows, 32 at once",
                unit="searches/s",
                contestants={
                    "plugin": lambda: ours(searches),
                    "LangGraph store": lambda: theirs("search"),
                },
            )


def _vectors(stage: Stage) -> Iterator[Measure]:
    rows = stage.scale(_VECTORS)
    with (
        stage.database("langgraph_vectors_ours") as url,
        stage.database("langgraph_vectors_theirs", migrated=False) as other,
    ):
        queries = embeddings.fill(url, rows=rows, dimension=_DIMENSION, namespaces=1)
        _store(other, work="fill", rows=rows, vectors=asyncio.run(_stored(url)))
        asked = [
            post("/v1/search", {"namespaces": ["workspace:0"], "embedding": query, "limit": 10})
            for query in queries
        ]
        with stage.plugin(url) as plugin:
            yield Measure(
                name="langgraph vector",
                title=f"vector search, {rows:,} × {_DIMENSION} in one namespace, 32 at once",
                unit="searches/s",
                contestants={
                    "plugin": lambda: send(
                        plugin, asked, connections=_TASKS, seconds=stage.seconds
                    ),
                    "LangGraph store": lambda: _store(
                        other, work="vector", tasks=_TASKS, seconds=stage.seconds, vectors=queries
                    ),
                },
            )


async def _stored(url: str) -> list[list[float]]:
    async with connection(url) as opened:
        rows = await opened.fetch("SELECT embedding::vector FROM memory_records ORDER BY content")
    return [list(row["embedding"]) for row in rows]


def _store(url: str, **order: object) -> Sample:
    done = subprocess.run(
        [sys.executable, "-m", "bench.langgraph_store"],
        input=json.dumps({"url": url, **order}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the LangGraph store failed: {done.stderr[-2000:]}")
    figures = json.loads(done.stdout)
    rate = figures["operations"] / figures["seconds"]
    return Sample(rate, {"p50": figures["p50"], "p99": figures["p99"]})
