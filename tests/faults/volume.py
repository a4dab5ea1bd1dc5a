"""A small volume that can be filled: a tmpfs in its own mount namespace.

It vanishes when the process that holds the namespace ends, however it ends. Root creates a mount
namespace; others create a user namespace first, if the kernel allows it.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from postgres.account import Account

_MOUNT = 'mount -t tmpfs -o "size=$2,mode=0777" tmpfs "$1" && echo mounted && exec sleep infinity'


@dataclass(frozen=True)
class Volume:
    """`path` is its location for programs started with `entering` before their name."""

    path: Path
    entering: Sequence[str]

    def run(self, *command: str, check: bool = True) -> None:
        subprocess.run([*self.entering, *command], check=check, stderr=subprocess.DEVNULL)

    def fill(self) -> None:
        """Use up the remaining space."""
        self.run("dd", "if=/dev/zero", f"of={self.path / 'ballast'}", "bs=4k", check=False)

    def empty(self) -> None:
        """Free the space."""
        self.run("rm", str(self.path / "ballast"))


@contextmanager
def small_volume(path: Path, size: str, account: Account | None) -> Iterator[Volume]:
    """Mount a volume of this size on a directory; skips the test if that is not permitted."""
    is_root = os.geteuid() == 0
    unshare = ["unshare", "--mount"]
    if not is_root:
        unshare += ["--user", "--map-current-user", "--keep-caps"]
    if not shutil.which("unshare"):
        pytest.skip("did not run: there is no unshare to make a small volume with")
    holder = subprocess.Popen(
        [*unshare, "sh", "-c", _MOUNT, "sh", str(path), size],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with holder:
        try:
            assert holder.stdout is not None
            if holder.stdout.readline() != "mounted\n":
                holder.kill()
                pytest.skip(f"did not run: no small volume for us: {holder.communicate()[1]}")
            entering = ["nsenter", f"--target={holder.pid}", "--mount"]
            if account:
                entering += [f"--setuid={account.uid}", f"--setgid={account.gid}"]
            elif not is_root:
                entering += ["--user", "--preserve-credentials"]
            yield Volume(path, [*entering, "--"])
        finally:
            holder.kill()
