"""`GET /metrics` in Prometheus format, for the whole service however many workers there are.

With several workers prometheus_client keeps each one's numbers in files of a shared
directory, named by PROMETHEUS_MULTIPROC_DIR before it is imported, and adds them up.
"""

import os
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

MULTIPROCESS_DIR = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_ROWS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics:
    """The numbers of one worker."""

    def __init__(self) -> None:
        # Registered per application, so that two in one process do not collide.
        self._registry = CollectorRegistry()
        self.requests = Histogram(
            "memory_plugin_request_seconds",
            "Requests and how long they took, by route and status.",
            ("method", "route", "status"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.write_batch_rows = Histogram(
            "memory_plugin_write_batch_rows",
            "Memories written by one statement.",
            buckets=_ROWS,
            registry=self._registry,
        )
        self.pool_size = Gauge(
            "memory_plugin_pool_connections",
            "Connections to the store that are open.",
            multiprocess_mode="livesum",
            registry=self._registry,
        )
        self.pool_used = Gauge(
            "memory_plugin_pool_connections_used",
            "Connections to the store that are in use.",
            multiprocess_mode="livesum",
            registry=self._registry,
        )
        self.expired = Counter(
            "memory_plugin_expired",
            "Expired memories and namespaces that the janitor has deleted.",
            ("what",),
            registry=self._registry,
        )
        self.store_up = Gauge(
            "memory_plugin_store_up",
            "1 when the store answered the last time it was asked, else 0.",
            multiprocess_mode="mostrecent",
            registry=self._registry,
        )

    def render(self) -> bytes:
        """All workers' numbers."""
        directory = os.environ.get(MULTIPROCESS_DIR)
        if directory is None:
            return generate_latest(self._registry)
        _forget_dead_workers(Path(directory))
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)


def _forget_dead_workers(directory: Path) -> None:
    """Drop the gauges of workers that are gone; what they counted stays."""
    for file in directory.glob("gauge_live*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
        except PermissionError:
            pass
