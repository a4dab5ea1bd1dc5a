"""PostgreSQL refuses to run as root: which account it runs as instead, and what it may read."""

import logging
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from postgres.errors import EmbeddedFailed

log = logging.getLogger(__name__)

_CANDIDATES = ("postgres", "nobody")


class AsUser(TypedDict, total=False):
    """The keyword arguments with which `subprocess` starts a program as another user."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """An account without privileges."""

    uid: int
    gid: int

    def own(self, path: Path) -> None:
        os.chown(path, self.uid, self.gid)


def account_for(data_dir: Path) -> Account | None:
    """The account that a server in `data_dir` runs as; None for the one we run as already.

    Data that is there decides: only its owner can read it.
    """
    if os.geteuid() != 0:
        return None
    owner = data_dir.stat()
    if owner.st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise EmbeddedFailed(
        "PostgreSQL does not run as root, and there is no account postgres or nobody to run it as;"
        " run the plugin as another user or give it a --database-url"
    )


def as_user(account: Account | None) -> AsUser:
    """How `subprocess` is told to run a program as this account."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def open_path(data_dir: Path, account: Account) -> None:
    """Give the directory to the account, and let it pass through the directories above."""
    account.own(data_dir)
    data_dir.chmod(stat.S_IRWXU)
    _open_parents(data_dir)


def open_tree(programs: Path) -> None:
    """Let others read and run PostgreSQL's programs, which an installer may have kept to root."""
    _open_parents(programs)
    if (programs / "postgres").stat().st_mode & stat.S_IXOTH:
        return
    for path in (programs.parent, *programs.parent.rglob("*")):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            runnable = stat.S_IXOTH if mode & stat.S_IXUSR else 0
            path.chmod(mode | stat.S_IROTH | runnable)


def _open_parents(path: Path) -> None:
    """Add the right to pass through, not the right to list."""
    for parent in path.resolve().parents:
        mode = parent.stat().st_mode
        if not mode & stat.S_IXOTH:
            parent.chmod(mode | stat.S_IXOTH)
            log.warning("opened for PostgreSQL to pass through", extra={"directory": str(parent)})
