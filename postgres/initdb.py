"""Creates the files of a new PostgreSQL database with its program initdb."""

import os
import subprocess
from pathlib import Path

from postgres.account import Account, as_user, with_a_name
from postgres.errors import EmbeddedFailed

# The built-in locale of PostgreSQL 17 and later, so that text behaves the same on every machine.
BUILTIN_LOCALE = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8")
# The current directory, by a name that needs no access to the directories above it.
HERE = Path("/proc/self/cwd")


def initdb(folder: Path, account: Account | None, programs: Path, *options: str) -> None:
    """Fill an empty folder with a database that belongs to the account."""
    # initdb refuses an account without a name; PostgreSQL itself does not ask.
    maker = with_a_name(account) if account else None
    if maker:
        maker.own(folder)
    done = subprocess.run(  # noqa: S603 - PostgreSQL's own program
        [
            str(programs / "initdb"),
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            *options,
            "-D",
            called_from_inside(folder),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment(),
        check=False,
        **as_user(maker),
    )
    if done.returncode:
        said = done.stdout.decode(errors="replace").strip().splitlines()
        raise EmbeddedFailed(
            f"the embedded PostgreSQL cannot be made in {folder.parent}:"
            f" {said[-1] if said else 'initdb failed'}"
        )
    if account and account != maker:
        account.own_all(folder)


def called_from_inside(folder: Path) -> str:
    """What a program that runs in a folder calls that folder: it may not have access from above."""
    return str(HERE if HERE.exists() else folder)


def environment() -> dict[str, str]:
    """The environment of PostgreSQL's programs, whatever ours is."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
