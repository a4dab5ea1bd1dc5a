"""Writes: one memory per request over 32 connections, and batches of 500."""

import asyncio
import random
import time
from collections.abc import Iterator
from typing import Any

from bench import data, pgbench
from bench.load import post, send
from bench.measure import Measure, Sample
from bench.stage import Stage, connection, execute

CONNECTIONS = 32
BATCH = 500
_BATCH_CONNECTIONS = 4
_REQUESTS = 2_000
_ROWS_BEFORE = 10_000

_TEXT = "The agent noted that service svc-{} needs rare{} before u{} as the user prefers sources"
_SINGLE = """\\set place random(0, 199)
\\set number random(1, 100000000)
INSERT INTO memory_plugin.memory_records (namespace, content, kind, source)
VALUES (
    'workspace' || chr(58) || :place,
    'The agent noted that service svc-' || :number % 5000 || ' needs rare' || :number || ' before u'
    || :number % 3000 || ' as the user prefers sources',
    'fact', 'agent'
);
"""
_SELECTED = """
INSERT INTO memory_records (namespace, content, kind, source)
SELECT
    'workspace:' || (n % 200)::bigint,
    'The agent noted that service svc-' || n % 5000 || ' needs rare' || n || ' before u' || n % 3000
    || ' as the user prefers sources',
    'fact', 'agent'
FROM (SELECT floor(random() * 100000000)::bigint AS n FROM generate_series(1, $1)) AS made
"""


def memory(number: int) -> dict[str, Any]:
    """A memory much like those that pgbench inserts."""
    text = _TEXT.format(number % 5000, number, number % 3000)
    return {"content": text, "kind": "fact", "source": "agent"}


def single_requests() -> list[str]:
    generator = random.Random(2)
    return [
        post(
            f"/v1/namespaces/workspace:{generator.randrange(200)}/memories",
            memory(generator.randrange(100_000_000)),
        )
        for _ in range(_REQUESTS)
    ]


def batch_requests() -> list[str]:
    generator = random.Random(3)
    return [
        post(
            "/v1/memories/batch",
            {
                "writes": [
                    {
                        "namespace": f"workspace:{generator.randrange(200)}",
                        **memory(generator.randrange(100_000_000)),
                    }
                    for _ in range(BATCH)
                ]
            },
        )
        for _ in range(40)
    ]


def measures(stage: Stage) -> Iterator[Measure]:
    with stage.database("writes") as url:
        data.fill(url, 1, stage.scale(_ROWS_BEFORE))
        with stage.plugin(url) as plugin:
            single, batches = single_requests(), batch_requests()
            send(plugin, single, connections=CONNECTIONS, seconds=1)
            yield Measure(
                name="write",
                title="single-memory writes, 32 connections",
                unit="memories/s",
                contestants={
                    "plugin": lambda: send_writes(
                        plugin, url, single, connections=CONNECTIONS, seconds=stage.seconds
                    ),
                    "pgbench": lambda: _inserted(url, stage.seconds),
                },
                must=0.7,
                aim=1.0,
            )
            yield Measure(
                name="batch",
                title=f"`batch` of {BATCH}",
                unit="memories/s",
                contestants={
                    "plugin": lambda: as_memories(
                        send_writes(
                            plugin,
                            url,
                            batches,
                            connections=_BATCH_CONNECTIONS,
                            seconds=stage.seconds,
                        )
                    ),
                    "INSERT … SELECT": lambda: asyncio.run(_selected(url, stage.seconds)),
                },
                must=0.4,
                aim=0.7,
            )


def send_writes(
    plugin: str, url: str, asked: list[str], *, connections: int, seconds: float
) -> Sample:
    """A turn of writing, and the work that the plugin has deferred by the end of it.

    That must not run during another contestant's turn; its time is recorded with the others.
    """
    sample = send(plugin, asked, connections=connections, seconds=seconds)
    later = data.sort_in(url) / (sample.value * seconds) * 1e6
    return Sample(sample.value, {**sample.details, "later_us": later})


def as_memories(batches: Sample) -> Sample:
    """Memories per second instead of batches."""
    return Sample(batches.value * BATCH, batches.details)


def _inserted(url: str, seconds: float) -> Sample:
    sample = pgbench.run(url, _SINGLE, connections=CONNECTIONS, seconds=seconds)
    data.sort_in(url)
    return sample


async def _selected(url: str, seconds: float) -> Sample:
    """As many concurrent statements as the plugin gets requests, each with as many rows."""
    until = time.perf_counter() + seconds

    async def work() -> int:
        count = 0
        async with connection(url) as opened:
            while time.perf_counter() < until:
                await opened.execute(_SELECTED, BATCH)
                count += BATCH
        return count

    began = time.perf_counter()
    counts = await asyncio.gather(*(work() for _ in range(_BATCH_CONNECTIONS)))
    rate = sum(counts) / (time.perf_counter() - began)
    await execute(url, data.SORT_IN)
    return Sample(rate)
