from collections.abc import Iterator
from pathlib import Path

import pytest

from postgres.embedded import embedded_postgres
from tests.integration.postgres.server import FAST, copied_directory, new_directory


@pytest.fixture
def empty_dir() -> Iterator[Path]:
    with new_directory() as path:
        yield path


@pytest.fixture(scope="session")
def made_once() -> Iterator[Path]:
    with new_directory() as path:
        with embedded_postgres(path, FAST):
            pass
        yield path


@pytest.fixture
def data_dir(made_once: Path) -> Iterator[Path]:
    """A directory with a database in it, and no server."""
    with copied_directory(made_once) as path:
        yield path
