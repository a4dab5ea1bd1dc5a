"""The real plugin as a process: started, killed, terminated, watched."""

import asyncio
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import httpx
import psutil

from contract.address import Address
from tests import timeouts
from tests.waiting import SECONDS

_LISTENING = re.compile(r"listening.* address=(\S+)")
# What must never be in the log, whatever clients and databases do.
_ALARMS = re.compile(r"^.*(?:Traceback|exception=| ERROR | CRITICAL ).*$", re.MULTILINE)


@dataclass
class Plugin:
    """One `memory-plugin-postgres`. A unix socket keeps its address across restarts.

    It is patient: without a fault, a busy machine makes no request fail.
    """

    directory: Path
    database_url: str
    listen: str = ""
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    # The limit of open files that a login shell has on most machines.
    file_limit: int = 1024
    _process: subprocess.Popen[bytes] | None = None
    # Where in the log the current process began.
    _began: int = 0

    def __post_init__(self) -> None:
        self.listen = self.listen or f"unix:{self.directory / 'plugin.sock'}"

    @property
    def log(self) -> str:
        """Everything that was logged, over all restarts."""
        return (self.directory / "plugin.log").read_text(errors="replace")

    @property
    def alarms(self) -> list[str]:
        """The log lines that report something unexpected."""
        return _ALARMS.findall(self.log)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def address(self) -> str:
        """As the process logged it, so that port 0 works."""
        found = _LISTENING.search(self.log, self._began)
        assert found, f"the plugin does not listen:\n{self.log}"
        return found[1]

    @property
    def memory(self) -> int:
        """The resident memory of all its processes, in bytes."""
        total = 0
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                total += int(process.memory_info().rss)
        return total

    @property
    def processor_seconds(self) -> float:
        """The processor time of all its processes so far."""
        total = 0.0
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                taken = process.cpu_times()
                total += taken.user + taken.system
        return total

    def start(self) -> None:
        """Start the process without waiting."""
        path = self.directory / "plugin.log"
        self._began = path.stat().st_size if path.exists() else 0
        command = [
            *("sh", "-c", 'ulimit -Sn "$0" && exec "$@"', str(self.file_limit)),
            str(Path(sys.executable).with_name("memory-plugin-postgres")),
            f"--listen={self.listen}",
            f"--database-url={self.database_url}",
            *self.options,
        ]
        with path.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                # What a killed one leaves behind goes with the directory.
                env={
                    **os.environ,
                    **timeouts.ENVIRONMENT,
                    "TMPDIR": str(self.directory),
                    **self.environment,
                },
            )

    async def ready(self) -> None:
        """Wait until health is 200."""
        deadline = perf_counter() + SECONDS
        while True:
            if _LISTENING.search(self.log, self._began):
                with suppress(httpx.HTTPError):
                    async with http(self.address) as client:
                        if (await client.get("/v1/health")).status_code == 200:
                            return
            assert self.running, f"the plugin has stopped:\n{self.log}"
            assert perf_counter() < deadline, f"the plugin is not ready:\n{self.log}"
            await asyncio.sleep(0.05)

    def kill(self) -> None:
        """kill -9 all its processes at once."""
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        if self._process is not None:
            self._process.wait()

    def terminate(self) -> None:
        """SIGTERM, as a service manager sends it."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    async def exit_code(self, within: float) -> int:
        """Wait at most `within` seconds for the process to end by itself."""
        assert self._process is not None
        return await asyncio.to_thread(self._process.wait, within)

    def _processes(self) -> list[psutil.Process]:
        if not self.running:
            return []
        with suppress(psutil.NoSuchProcess):
            leader = psutil.Process(self.pid)
            return [leader, *leader.children(recursive=True)]
        return []


def http(address: str, *, timeout: float = SECONDS, connections: int = 1) -> httpx.AsyncClient:
    """A client with its own connections and without retries."""
    where = Address.parse(address)
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    # Loading certificates, which nothing here needs, would take most of a short test's time.
    no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.AsyncClient(
        base_url=where.url,
        transport=httpx.AsyncHTTPTransport(
            verify=no_certificates, uds=where.socket, limits=limits, retries=0
        ),
        timeout=timeout,
        trust_env=False,
    )


@asynccontextmanager
async def running_plugin(
    database_url: str, *options: str, listen: str = "", environment: Mapping[str, str] | None = None
) -> AsyncIterator[Plugin]:
    """A running plugin, killed afterwards. Without `listen` it is on a unix socket."""
    with tempfile.TemporaryDirectory(prefix="mp-plugin-") as made:
        plugin = Plugin(Path(made), database_url, listen, options, environment or {})
        plugin.start()
        try:
            await plugin.ready()
            yield plugin
        finally:
            plugin.kill()
