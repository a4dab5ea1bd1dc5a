"""The memory plugin that a server uses: the one at a URL, or the reference plugin as a child.

Plugins are reached over HTTP only. The child listens on a unix socket in the data directory.
"""

import logging
import os
import shutil
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from serving.child import Child, child
from serving.errors import BadSetting, ServerFailed
from serving.settings import BaseSettings, setting

_COMMAND = "memory-plugin-postgres"
# These configure a standalone plugin; the child must not inherit them.
_NOT_INHERITED = ("LISTEN_ADDR", "DATABASE_URL", "DATA_DIR", "TOKEN", "URL", "WORKERS")
# Our servers allow 100,000 characters, each of up to four bytes.
_CONTENT_BYTES = 400_000
_TELL_SECONDS = 60.0
_PAUSE_SECONDS = 0.05
# The kernel allows 108 bytes (macOS 104) for the path of a unix socket, with its final NUL.
_SOCKET_NAME_BYTES = 100

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PluginSettings(BaseSettings):
    """Which memory plugin to use."""

    plugin_url: str | None = setting(
        None,
        "Address of the memory plugin: http://host:port, https://host or unix:/path. Without it,"
        " the reference plugin runs as a child process on the same database.",
        env="MEMORY_PLUGIN_URL",
    )
    plugin_token: str | None = setting(
        None, "Bearer token for the memory plugin.", env="MEMORY_PLUGIN_TOKEN"
    )

    @staticmethod
    def read_plugin_url(url: str, /) -> object:
        """Raise ValueError for an address that the service's client cannot use."""
        return url

    def check(self) -> None:
        super().check()
        if self.plugin_url:
            try:
                self.read_plugin_url(self.plugin_url)
            except ValueError as error:
                raise BadSetting(f"--plugin-url (MEMORY_PLUGIN_URL): {error}") from None
        token = self.plugin_token
        if token is not None and not (token.isascii() and token.isprintable() and token.strip()):
            raise BadSetting("--plugin-token (MEMORY_PLUGIN_TOKEN) must be printable ASCII")


class _Settings(Protocol):
    """The settings that a server with a plugin has."""

    @property
    def plugin_url(self) -> str | None: ...
    @property
    def database_url(self) -> str | None: ...
    @property
    def data_dir(self) -> Path: ...
    @property
    def skip_migrate(self) -> bool: ...
    @property
    def log_level(self) -> str: ...
    @property
    def log_json(self) -> bool: ...


S = TypeVar("S", bound=_Settings)


@contextmanager
def plugin_for(settings: S, service: str) -> Iterator[S]:
    """The settings with the URL of a plugin: the configured one, or that of a child.

    The child uses `database_url`, which must be set. It is restarted if it exits, and stops with
    the context or with this process.
    """
    if settings.plugin_url:
        yield settings
        return
    with (
        _socket_path(settings.data_dir, service) as path,
        child(_command(path), _environment(settings), name=_COMMAND) as plugin,
    ):
        _wait_until_it_listens(plugin, path)
        plugin.keep_alive()
        log.info("started the memory plugin as a child process", extra={"plugin": f"unix:{path}"})
        # A dataclass, though the protocol cannot say so.
        yield replace(settings, plugin_url=f"unix:{path}", plugin_token=None)  # type: ignore[type-var]


def _command(path: Path) -> list[str]:
    beside = Path(sys.executable).with_name(_COMMAND)
    program = str(beside) if beside.exists() else shutil.which(_COMMAND)
    if program is None:
        raise ServerFailed(
            f"there is no --plugin-url, and {_COMMAND} is not installed to run as a child;"
            " set --plugin-url, or install memory-plugins[plugin]"
        )
    return [program, "--listen", f"unix:{path}"]


def _environment(settings: _Settings) -> dict[str, str]:
    own = {f"MEMORY_PLUGIN_{name}" for name in _NOT_INHERITED}
    environment = {"MEMORY_PLUGIN_MAX_CONTENT": str(_CONTENT_BYTES)}
    environment |= {name: value for name, value in os.environ.items() if name not in own}
    environment |= {
        "MEMORY_PLUGIN_DATABASE_URL": settings.database_url or "",
        "MEMORY_PLUGIN_SKIP_MIGRATE": str(int(settings.skip_migrate)),
        # A reader of our log would mistake the child's "listening" for ours.
        "MEMORY_PLUGIN_LOG_LEVEL": "warning"
        if settings.log_level == "info"
        else settings.log_level,
        "MEMORY_PLUGIN_LOG_JSON": str(int(settings.log_json)),
    }
    return environment


@contextmanager
def _socket_path(data_dir: Path, service: str) -> Iterator[Path]:
    """Where this process's child listens; removes sockets that killed processes left behind."""
    data_dir = data_dir.expanduser().absolute()
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ServerFailed(
            f"cannot create the data directory {data_dir} ({error.strerror}); choose another one"
            " with --data-dir, or set --plugin-url"
        ) from error
    name = f"{service}-plugin-{os.getpid()}.sock"
    folder = data_dir if _fits(data_dir / name) else _short_folder(data_dir, name)
    for left in folder.glob(f"{service}-plugin-*.sock"):
        if not (_is_in_use(left) or _listens(left)):
            left.unlink(missing_ok=True)
    path = folder / name
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        if folder != data_dir:
            with suppress(OSError):  # another service has its socket there
                folder.rmdir()


def _short_folder(data_dir: Path, name: str) -> Path:
    """A fixed folder to use instead of a data directory whose path is too long."""
    called = f"memory-{os.geteuid()}-{data_dir.stat().st_ino:x}-plugin"
    base = Path(tempfile.gettempdir())
    folder = (base if _fits(base / called / name) else Path("/tmp")) / called  # noqa: S108 - checked
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise ServerFailed(
            f"{folder} belongs to another user or is not private; remove it, or use a shorter"
            " --data-dir"
        )
    return folder


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= _SOCKET_NAME_BYTES


def _wait_until_it_listens(plugin: Child, path: Path) -> None:
    """However long: stopped while it migrates a large database, it would begin anew next time."""
    told_at = time.monotonic()
    while not _listens(path):
        if not plugin.is_alive():
            raise ServerFailed(
                f"the child process {_COMMAND} did not start; the log above says why"
            )
        if time.monotonic() - told_at > _TELL_SECONDS:
            told_at = time.monotonic()
            log.warning("waiting for the memory plugin; it may be migrating its database")
        time.sleep(_PAUSE_SECONDS)


def _is_in_use(path: Path) -> bool:
    """Whether the socket is that of a process that runs, and whose child may listen soon."""
    owner = path.stem.rpartition("-")[2]
    if not owner.isdecimal() or owner == str(os.getpid()):
        return False
    try:
        os.kill(int(owner), 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
        probe.connect(str(path))
        return True
    return False
