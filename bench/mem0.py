"""mem0 in its own process: `python -m bench.mem0`.

Reads an order as JSON from standard input, one line each, and prints the figures of each: it keeps
its memories from one order to the next. mem0 uses its default store, Qdrant in the same process,
and no model: `infer=False`, and embeddings that cost almost nothing.
"""

import json
import sys
import time
from collections.abc import Callable
from itertools import cycle
from typing import Any

import mem0
from mem0.configs.base import MemoryConfig
from mem0.embeddings.configs import EmbedderConfig
from mem0.utils.factory import EmbedderFactory

DIMENSION = 384
USER = "bench"


def open_memory(folder: str) -> Any:
    """A `Memory` that stores everything in the folder and calls no server."""
    EmbedderFactory.provider_to_class["fake"] = f"{__name__}.FakeEmbedder"
    store = {"path": f"{folder}/qdrant", "on_disk": True, "embedding_model_dims": DIMENSION}
    config = MemoryConfig(
        vector_store={"provider": "qdrant", "config": store},
        # Never called, but required.
        llm={"provider": "openai", "config": {"api_key": "none"}},
        history_db_path=f"{folder}/history.db",
        # mem0 checks the names of providers, and ours is not on its list.
        embedder=EmbedderConfig.model_construct(provider="fake", config={}),
    )
    return mem0.Memory(config)


class FakeEmbedder:
    """Vectors that differ from text to text, at almost no cost."""

    def __init__(self, config: object = None) -> None:
        self.config = config

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        del memory_action
        vector = [0.01] * DIMENSION
        vector[hash(text) % DIMENSION] = 1.0
        return vector

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]


def run(memory: Any, order: dict[str, Any]) -> dict[str, float]:
    """Run one order: `add` turns, all of them or for some seconds, or `search`."""
    latencies = []
    work: Callable[[Any], Any] = {
        "add": lambda turn: memory.add(turn, user_id=USER, infer=False),
        "search": lambda query: memory.search(query, filters={"user_id": USER}, top_k=8),
    }[order["work"]]
    seconds = order.get("seconds")
    began = time.perf_counter()
    for item in order["items"] if seconds is None else cycle(order["items"]):
        sent = time.perf_counter()
        if seconds is not None and sent > began + seconds:
            break
        work(item)
        latencies.append(time.perf_counter() - sent)
    spent = time.perf_counter() - began
    latencies.sort()
    return {
        "rate": len(latencies) / spent,
        "p50": latencies[len(latencies) // 2] * 1000,
        "p99": latencies[len(latencies) * 99 // 100] * 1000,
    }


def main(folder: str) -> None:
    memory = open_memory(folder)
    for line in sys.stdin:
        print(json.dumps(run(memory, json.loads(line))), flush=True)
    memory.vector_store.client.close()


if __name__ == "__main__":
    main(sys.argv[1])
