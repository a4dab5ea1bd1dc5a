"""What the measures run on: an embedded PostgreSQL with fsync, databases, plugins as processes."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import httpx
import psutil

from plugin_postgres import pgvector
from plugin_postgres.schema import SCHEMA
from postgres.embedded import embedded_postgres

_READY_SECONDS = 120
_STOP_SECONDS = 60
# At most two workers on two cores: PostgreSQL needs one of them.
WORKERS = 2
_SERVER = {
    "fsync": "on",
    "synchronous_commit": "on",
    "max_connections": "200",
    "shared_buffers": "1GB",
    "max_wal_size": "4GB",
    # A checkpoint in the middle of one contestant's turn would be counted against it.
    "checkpoint_timeout": "1h",
}


@dataclass
class Stage:
    """One cluster for a whole run, and the length of each contestant's turn."""

    cluster_url: str
    folder: Path
    seconds: float
    quick: bool
    peak_bytes: dict[str, int] = field(default_factory=dict)

    def scale(self, count: int) -> int:
        """`count` rows, or a hundredth of them in a quick run."""
        return max(200, count // 100) if self.quick else count

    @contextmanager
    def database(self, name: str, *, migrated: bool = True) -> Iterator[str]:
        """A new database, with the plugin's schema unless told otherwise."""
        url = urlunsplit(urlsplit(self.cluster_url)._replace(path=f"/{name}"))
        asyncio.run(execute(self.cluster_url, f'CREATE DATABASE "{name}"'))
        try:
            if migrated:
                asyncio.run(_migrate(url))
            yield url
        finally:
            asyncio.run(execute(self.cluster_url, f'DROP DATABASE "{name}" WITH (FORCE)'))

    @contextmanager
    def plugin(self, database_url: str, *, workers: int = WORKERS) -> Iterator[str]:
        """The URL of the real command, serving on a free port of the loopback address."""
        with self.server(
            "memory-plugin-postgres", "--database-url", database_url, workers=workers
        ) as url:
            yield url

    @contextmanager
    def server(
        self,
        name: str,
        *flags: str,
        workers: int = WORKERS,
        environment: Mapping[str, str] | None = None,
        health: str = "/v1/health",
    ) -> Iterator[str]:
        """The URL of a command of ours, serving on a free port of the loopback address."""
        log = self.folder / f"{name}-{uuid4().hex}.log"
        command = [str(Path(sys.executable).with_name(name)), *flags]
        command += ["--listen", "127.0.0.1:0", "--workers", str(workers)]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stderr=output, stdout=output, env={**os.environ, **(environment or {})}
            )
        try:
            url = f"http://{address(process, log)}"
            asyncio.run(_warm(url + health, workers))
            with self._watched(name, process.pid):
                yield url
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(_STOP_SECONDS)

    @contextmanager
    def _watched(self, name: str, pid: int) -> Iterator[None]:
        """Record the peak memory of the command's workers."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.25):
                try:
                    parent = psutil.Process(pid)
                    workers = parent.children(recursive=True) or [parent]
                    largest = max(worker.memory_info().rss for worker in workers)
                except (psutil.Error, ValueError):
                    continue
                self.peak_bytes[name] = max(self.peak_bytes.get(name, 0), largest)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextmanager
def stage(*, seconds: float, quick: bool) -> Iterator[Stage]:
    """A stage in a temporary folder, which is deleted afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="mp-bench-"))
    try:
        with embedded_postgres(folder / "data", _SERVER) as url:
            yield Stage(url, folder, seconds, quick)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def connection(url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection that finds our tables and accepts vectors as lists."""
    opened = await asyncpg.connect(url, server_settings={"jit": "off"})
    try:
        path = await pgvector.search_path(opened)
        await opened.execute(f"SET search_path = {path}")
        if path != "memory_plugin" or await opened.fetchval("SELECT to_regtype('vector')"):
            await pgvector.register(opened)
        yield opened
    finally:
        await opened.close()


async def execute(url: str, *statements: str) -> None:
    """Run statements outside a transaction."""
    async with connection(url) as opened:
        for statement in statements:
            await opened.execute(statement)


async def _migrate(url: str) -> None:
    async with connection(url) as opened:
        await SCHEMA.migrate(opened)


async def _warm(health_url: str, workers: int) -> None:
    """Return when every worker responds, as far as can be seen from outside."""
    async with httpx.AsyncClient(timeout=_READY_SECONDS) as client:
        for _ in range(3):
            health = [client.get(health_url) for _ in range(8 * workers)]
            for answer in await asyncio.gather(*health):
                answer.raise_for_status()


def address(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address of one of our servers, from its log."""
    waited = threading.Event()
    for _ in range(_READY_SECONDS * 20):
        found = re.search(r"listening.*?(127\.0\.0\.1:\d+)", log.read_text(errors="replace"))
        if found:
            return found[1]
        if process.poll() is not None:
            break
        waited.wait(0.05)
    raise RuntimeError(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    return {
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": sys.version.split()[0],
    }
