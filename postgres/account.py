"""PostgreSQL refuses to run as root: which account it runs as instead, and where it may go."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from postgres.errors import EmbeddedFailed

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

    def may_run(self, program: Path) -> bool:
        """Whether it may read and run this file, and pass through all directories above it."""
        program = program.resolve()
        return self._may(program, stat.S_IROTH | stat.S_IXOTH) and all(
            self._may(parent, stat.S_IXOTH) for parent in program.parents
        )

    def _may(self, path: Path, others: int) -> bool:
        found = path.stat()
        if found.st_uid == self.uid:
            wanted = others << 6
        elif found.st_gid == self.gid:
            wanted = others << 3
        else:
            wanted = others
        return found.st_mode & wanted == wanted


def account_for(data_dir: Path) -> Account | None:
    """The account that a server in `data_dir` runs as; None for the one we run as already.

    Data that is there decides: only its owner can read it.
    """
    if os.geteuid() != 0:
        return None
    for path in (data_dir / "postgres", data_dir):
        if path.exists() and (owner := path.stat()).st_uid != 0:
            return Account(owner.st_uid, owner.st_gid)
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise EmbeddedFailed(
        "PostgreSQL does not run as root, and there is no account postgres or nobody to run it as;"
        " run as another user or give a --database-url"
    )


def as_user(account: Account | None) -> AsUser:
    """How `subprocess` is told to run a program as this account."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
