"""`GET /metrics` in Prometheus format, for the whole service, however many workers there are.

With several workers prometheus_client keeps each one's numbers in files of a shared
directory, named by PROMETHEUS_MULTIPROC_DIR before it is imported, and adds them up.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    values,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

MULTIPROCESS_DIR = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

GaugeMode = Literal["livesum", "livemax", "mostrecent"]
"""How the gauges of several workers are combined."""

if MULTIPROCESS_DIR in os.environ:
    # Workers are spawned, not forked. Otherwise every number asks the system for the process id.
    values.ValueClass = values.MultiProcessValue(partial(int, os.getpid()))  # type: ignore[no-untyped-call]


class Metrics:
    """The numbers of one worker; every name begins with the prefix."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        # Registered per application, so that two in one process do not collide.
        self._registry = CollectorRegistry()
        self.requests = self.histogram(
            "request_seconds",
            "Requests and how long they took, by route and status.",
            ("method", "route", "status"),
        )

    def counter(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Counter:
        return Counter(f"{self._prefix}_{name}", meaning, labels, registry=self._registry)

    def gauge(
        self, name: str, meaning: str, labels: Sequence[str] = (), mode: GaugeMode = "livesum"
    ) -> Gauge:
        return Gauge(
            f"{self._prefix}_{name}",
            meaning,
            labels,
            registry=self._registry,
            multiprocess_mode=mode,
        )

    def histogram(
        self,
        name: str,
        meaning: str,
        labels: Sequence[str] = (),
        buckets: Sequence[float] = SECONDS,
    ) -> Histogram:
        return Histogram(
            f"{self._prefix}_{name}", meaning, labels, buckets=buckets, registry=self._registry
        )

    def render(self) -> bytes:
        """The numbers of all workers."""
        directory = os.environ.get(MULTIPROCESS_DIR)
        if directory is None:
            return generate_latest(self._registry)
        _forget_dead_workers(Path(directory))
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)


def metrics_route(metrics: Metrics, refresh: Callable[[], Awaitable[None]] | None = None) -> Route:
    """`GET /metrics`; `refresh` sets the numbers that are only known on request."""

    async def show(_: Request) -> Response:
        if refresh is not None:
            await refresh()
        return Response(metrics.render(), headers={"content-type": CONTENT_TYPE})

    return Route("/metrics", show)


def _forget_dead_workers(directory: Path) -> None:
    """Drop the gauges of workers that are gone; what they counted stays."""
    for file in directory.glob("gauge_live*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            with suppress(FileNotFoundError):  # another worker was faster
                mark_process_dead(pid)  # type: ignore[no-untyped-call]
        except PermissionError:
            pass
