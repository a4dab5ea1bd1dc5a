"""One file of curated memory: read by anyone at any time, changed by one process at a time."""

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agent.errors import CuratedMemoryError

_PATIENCE = 30.0  # seconds; a change takes milliseconds, unless its process is stopped


class MemoryFile:
    """`MEMORY.md` or `USER.md`. A symlink is followed: what it points to is changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.name

    def text(self) -> str:
        """Its current text, with U+FFFD for bytes that are not UTF-8; "" without a file."""
        return self._bytes().decode("utf-8", "replace")

    def change(self, change: Callable[[str], str | None]) -> None:
        """Replace the text with the result of `change`; None leaves the file as it is.

        Nobody else can change it meanwhile, and readers see the old text or the new one, even after
        a kill or a power failure.
        """
        with self._errors_as_refusals():
            real = Path(os.path.realpath(self._path))
            real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked(real.parent) as directory:
                new = change(self._strict_text())
                if new is not None:
                    _replace(real, new.encode(), directory)

    def _bytes(self) -> bytes:
        with self._errors_as_refusals():
            try:
                return self._path.read_bytes()
            except FileNotFoundError:
                return b""

    def _strict_text(self) -> str:
        raw = self._bytes()
        try:
            return raw.decode()
        except UnicodeDecodeError:
            pass
        raise CuratedMemoryError(
            f"{self.name} is not UTF-8 text and was not changed. Ask the user to repair it."
        )

    @contextmanager
    def _locked(self, directory: Path) -> Iterator[int]:
        """The lock is on the directory: the file itself is replaced by every change."""
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            until = time.monotonic() + _PATIENCE
            while not _try_lock(descriptor):
                if time.monotonic() > until:
                    raise CuratedMemoryError(f"{self.name} is being changed. Try again later.")
                time.sleep(0.005)
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _errors_as_refusals(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CuratedMemoryError(
                f"{self.name} could not be used: {error.strerror}. Nothing was changed."
                " Tell the user about it."
            ) from error


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _replace(real: Path, data: bytes, directory: int) -> None:
    # Always the same name, so that the next writer removes what a killed one left.
    temporary = real.with_name(f".{real.name}.tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _keep_mode(real, descriptor)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(real)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    os.fsync(directory)


def _keep_mode(real: Path, descriptor: int) -> None:
    """The new file gets the permissions of the old one."""
    try:
        old = real.stat()
    except FileNotFoundError:
        return
    with suppress(PermissionError):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
