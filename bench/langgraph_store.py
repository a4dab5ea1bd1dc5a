"""The LangGraph PostgreSQL store in its own process: `python -m bench.langgraph_store`.

Reads an order as JSON from standard input and prints the figures. The store is used as it performs
best: its asynchronous version, a pool, and many concurrent tasks, which it batches.
"""

import asyncio
import json
import random
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import uvloop
from langgraph.store.base import PutOp
from langgraph.store.postgres import AsyncPostgresStore

_TEXT = "The agent noted that service svc-{} needs rare{} before u{} as the user prefers sources"


def _value(generator: random.Random) -> dict[str, Any]:
    number = generator.randrange(100_000_000)
    return {"text": _TEXT.format(number % 5000, number, number % 3000), "kind": "fact"}


def _namespace(generator: random.Random) -> tuple[str, ...]:
    return ("workspace", str(generator.randrange(200)))


async def run(order: dict[str, Any]) -> dict[str, float]:
    """Run one order: `fill`, `put`, `batch`, `search` or `vector`."""
    generator = random.Random(order.get("seed", 1))
    # What an embedding model would return; the text of a query is its number.
    vectors: list[list[float]] = order.get("vectors", [])

    async def embed(texts: list[str]) -> list[list[float]]:
        return [vectors[int(text.rpartition("#")[2]) % len(vectors)] for text in texts]

    options: dict[str, Any] = {"pool_config": {"min_size": 10, "max_size": 10}}
    if vectors:
        index = {"dims": len(vectors[0]), "embed": embed, "fields": ["text"]}
        options["index"] = index
    async with AsyncPostgresStore.from_conn_string(order["url"], **options) as store:
        await store.setup()
        if order["work"] == "fill":
            await _fill(store, order, generator)
            return {"operations": order["rows"], "seconds": 1, "p50": 0, "p99": 0}
        works: dict[str, Callable[[], Awaitable[Any]]] = {
            "put": lambda: store.aput(
                _namespace(generator), str(uuid.uuid4()), _value(generator), index=False
            ),
            "batch": lambda: store.abatch(
                [
                    PutOp(_namespace(generator), str(uuid.uuid4()), _value(generator), index=False)
                    for _ in range(500)
                ]
            ),
            "search": lambda: store.asearch(_namespace(generator), limit=20),
            "vector": lambda: store.asearch(
                ("workspace", "0"), query=f"#{generator.randrange(len(vectors))}", limit=10
            ),
        }
        return await _repeat(works[order["work"]], order["tasks"], order["seconds"])


async def _fill(store: AsyncPostgresStore, order: dict[str, Any], generator: random.Random) -> None:
    embedded = "vectors" in order
    for start in range(0, order["rows"], 500):
        puts = [
            PutOp(
                ("workspace", "0") if embedded else _namespace(generator),
                str(uuid.uuid4()),
                {**_value(generator), "text": f"memory #{place}"}
                if embedded
                else _value(generator),
                index=None if embedded else False,
            )
            for place in range(start, min(start + 500, order["rows"]))
        ]
        await store.abatch(puts)


async def _repeat(
    work: Callable[[], Awaitable[Any]], tasks: int, seconds: float
) -> dict[str, float]:
    latencies: list[float] = []
    began = time.perf_counter()

    async def worker() -> None:
        while (sent := time.perf_counter()) < began + seconds:
            await work()
            latencies.append(time.perf_counter() - sent)

    await asyncio.gather(*(worker() for _ in range(tasks)))
    latencies.sort()
    return {
        "operations": len(latencies),
        "seconds": time.perf_counter() - began,
        "p50": latencies[len(latencies) // 2] * 1000,
        "p99": latencies[len(latencies) * 99 // 100] * 1000,
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.load(sys.stdin)))))
