"""Real PostgreSQL servers that a test starts, kills, restarts, freezes, copies and promotes."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep
from typing import Any
from urllib.parse import quote

import asyncpg
import psutil

from postgres.account import Account, account_for, as_user
from postgres.initdb import BUILTIN_LOCALE
from postgres.initdb import initdb as make
from postgres.programs import newest_programs, runnable_by, version_of
from tests.waiting import SECONDS

# What a connection attempt raises while a server is down, starting, stopping or just dead.
NOT_SERVING = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)

SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "max_connections": "100",
    "shared_buffers": "32MB",
    "max_wal_size": "64MB",
    "min_wal_size": "8MB",
    "wal_sender_timeout": "5s",
    "hot_standby": "on",
    "log_line_prefix": "%m [%p] %a ",
}


@dataclass
class Postgres:
    """One server. `data` must contain a database; the log and the socket are next to it."""

    directory: Path
    settings: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=lambda: free_port())
    # How to start a program where the data is, such as inside another mount namespace.
    entering: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    programs: Path = field(default_factory=newest_programs)
    data: Path = field(init=False)
    account: Account | None = field(init=False)
    _process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.data = self.directory / "data"
        self.account = account_for(self.directory)

    def program(self, name: str) -> str:
        return str(runnable_by(self.account, self.programs) / name)

    @property
    def url(self) -> str:
        """Over the unix socket, for the test and for most plugins."""
        return f"postgresql://postgres@/postgres?host={quote(str(self.directory))}&port={self.port}"

    @property
    def host(self) -> str:
        """Over TCP, for a URL with several hosts."""
        return f"127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text(errors="replace")

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the server without waiting: recovery after a kill takes time."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.directory),
            **SETTINGS,
            **self.settings,
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        command = [self.program("postgres"), "-D", str(self.data), f"--port={self.port}", *options]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self.entering, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env={**os.environ, **self.environment},
                **({} if self.entering else as_user(self.account)),
            )

    async def ready(self) -> float:
        """Wait until it accepts connections; returns the time, by `perf_counter`."""
        deadline = perf_counter() + SECONDS
        while True:
            try:
                connection = await asyncpg.connect(self.url, timeout=5)
            except NOT_SERVING as error:
                if not self.running or perf_counter() > deadline:
                    raise AssertionError(f"PostgreSQL does not start:\n{self.log}") from error
                await asyncio.sleep(0.02)
            else:
                await connection.close()
                return perf_counter()

    def kill(self) -> None:
        """kill -9 the postmaster and all its processes at once."""
        if self._process is not None and self.running:
            # A process that it starts now would survive, and keep the next server from starting.
            self._process.send_signal(signal.SIGSTOP)
        killed = self._processes()
        for process in killed:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._wait()
        # The next server does not start while one of them still holds the shared memory.
        while any(map(_is_alive, killed)):
            sleep(0.01)

    def stop(self) -> None:
        """A fast shutdown, as in a restart of the service."""
        if self._process is not None and self.running:
            self._process.send_signal(signal.SIGINT)
        self._wait()

    def end(self) -> None:
        """Stop for good and at once; unlike a kill, this leaves no shared memory behind."""
        self.thaw()
        if self._process is not None and self.running:
            self._process.send_signal(signal.SIGQUIT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(SECONDS)
        self.kill()

    def freeze(self) -> None:
        """Freeze every process: connections stay open and nothing responds."""
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def thaw(self) -> None:
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def run(self, name: str, *arguments: str) -> str:
        """Run one of PostgreSQL's own programs as the account that owns the data."""
        done = subprocess.run(
            [*self.entering, self.program(name), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
            env={**os.environ, **self.environment},
            check=False,
            **({} if self.entering else as_user(self.account)),
        )
        assert done.returncode == 0, f"{name} failed: {done.stdout}"
        return done.stdout

    def promote(self) -> None:
        """Make a standby the primary; returns when it accepts writes."""
        self.run("pg_ctl", "promote", "-D", str(self.data), "-w")

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[asyncpg.Connection]:
        connection = await asyncpg.connect(self.url, timeout=SECONDS)
        try:
            yield connection
        finally:
            # The test may have killed the server meanwhile.
            with suppress(*NOT_SERVING, TimeoutError):
                await connection.close(timeout=5)

    async def execute(self, *statements: str) -> None:
        """Run statements, each on its own."""
        async with self.connect() as connection:
            for statement in statements:
                await connection.execute(statement)

    async def fetch(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        async with self.connect() as connection:
            return await connection.fetch(query, *arguments)

    async def terminate_clients(self, application: str) -> int:
        """pg_terminate_backend every connection with this application name; returns how many."""
        rows = await self.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
            application,
        )
        return len(rows)

    def _processes(self) -> list[psutil.Process]:
        if self._process is None or not self.running:
            return []
        with suppress(psutil.NoSuchProcess):
            postmaster = psutil.Process(self._process.pid)
            return [postmaster, *postmaster.children(recursive=True)]
        return []

    def _wait(self) -> None:
        if self._process is not None:
            self._process.wait(SECONDS)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@contextmanager
def directory(prefix: str) -> Iterator[Path]:
    """A directory that PostgreSQL can use, whoever runs the tests."""
    # A short path, because a unix socket's name may have about 100 bytes only.
    with tempfile.TemporaryDirectory(prefix=f"mp-{prefix}-", ignore_cleanup_errors=True) as made:
        path = Path(made)
        account = account_for(path)
        if account:
            account.own(path)
        yield path


def initdb(server: Postgres) -> None:
    """A new database; small log segments make copies and crashes cheap."""
    server.data.mkdir(mode=0o700)
    programs = runnable_by(server.account, server.programs)
    own_locale = BUILTIN_LOCALE if int(version_of(programs)) >= 17 else ()
    make(server.data, server.account, programs, *own_locale, "--wal-segsize=1", "--no-sync")


def copy_database(template: Path, server: Postgres) -> None:
    """Give a server a copy of a stopped server's data."""
    shutil.copytree(template, server.data, symlinks=True)
    if server.account:
        for path in (server.data, *server.data.rglob("*")):
            server.account.own(path)


async def add_standby(primary: Postgres, directory: Path) -> Postgres:
    """Add a synchronous streaming standby: from now on nothing commits without it."""
    standby = Postgres(directory)
    await asyncio.to_thread(
        standby.run,
        "pg_basebackup",
        f"--pgdata={standby.data}",
        f"--dbname={primary.url}",
        "--write-recovery-conf",
        "--checkpoint=fast",
        "--no-sync",
    )
    standby.start()
    await standby.ready()
    await primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await primary.execute("SELECT pg_reload_conf()")
    deadline = perf_counter() + SECONDS
    while not await primary.fetch(
        "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"
    ):
        assert perf_counter() < deadline, f"the standby does not follow:\n{standby.log}"
        await asyncio.sleep(0.05)
    return standby


def free_port() -> int:
    """A port that was free a moment ago; it also names the unix socket, so it must be a port."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def running_postgres(
    template: Path, settings: Mapping[str, str] | None = None
) -> AsyncIterator[Postgres]:
    """A running server on a copy of the template; stopped and removed afterwards."""
    with directory("pg") as made:
        server = Postgres(made, dict(settings or {}))
        copy_database(template, server)
        server.start()
        try:
            await server.ready()
            yield server
        finally:
            server.end()
