"""PostgreSQL refuses to run as root: the account it runs as instead, and what that may access.

That is the owner of the data, the account `postgres`, or else a user id that no account has. It is
not `nobody`, because other services run as `nobody` and could read the data.
"""

import grp
import os
import pwd
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from postgres.errors import EmbeddedFailed

_OWN = "postgres"
_SHARED = "nobody"
# User ids that neither distributions nor systemd assign.
_UNUSED = range(60578, 61184)


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

    def own_all(self, folder: Path) -> None:
        """Own a folder and everything in it; the folder itself last, which marks it as complete."""
        for inside, folders, files in os.walk(folder):
            for name in (*folders, *files):
                os.chown(Path(inside) / name, self.uid, self.gid, follow_symlinks=False)
        self.own(folder)

    def may_run(self, program: Path) -> bool:
        """Whether it may read and execute this file and search all directories above it."""
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

    Existing data decides: only its owner can read it. Data that earlier releases created as
    `nobody` gets another owner.
    """
    if os.geteuid() != 0:
        return None
    shared = _named(_SHARED)
    for path in (data_dir / "postgres", data_dir):
        if path.exists() and (found := path.stat()).st_uid != 0:
            owner = Account(found.st_uid, found.st_gid)
            if shared is None or owner.uid != shared.uid:
                return owner
    return _named(_OWN) or _without_a_name()


def with_a_name(account: Account) -> Account:
    """This account, or one that has a name: PostgreSQL cannot create a database without one."""
    with suppress(KeyError):
        pwd.getpwuid(account.uid)
        return account
    named = _named(_SHARED)
    if named is None:
        raise EmbeddedFailed(
            f"PostgreSQL refuses to run as root, and there is no account {_OWN} or {_SHARED} to"
            " use instead; run as another user, or set --database-url"
        )
    return named


def _named(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_uid, entry.pw_gid)


def _without_a_name() -> Account:
    taken = {entry.pw_uid for entry in pwd.getpwall()} | {it.gr_gid for it in grp.getgrall()}
    free = next((number for number in _UNUSED if number not in taken), None)
    if free is None:
        raise EmbeddedFailed(
            f"PostgreSQL refuses to run as root; add an account {_OWN}, run as another user, or"
            " set --database-url"
        )
    return Account(free, free)


def as_user(account: Account | None) -> AsUser:
    """The arguments that make `subprocess` run a program as this account."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
