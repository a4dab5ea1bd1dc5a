from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from backfill import journal
from harness.example import Store
from tests.integration.backfill.command import Command
from tests.integration.backfill.example import Troubled, plugin, serving
from tests.integration.backfill.legacy import LegacyDatabase

Serve = Callable[..., Command]


@pytest.fixture
def legacy(database: str) -> LegacyDatabase:
    """Empty legacy tables with all columns but the embedding."""
    return LegacyDatabase(database)


@pytest.fixture
def store() -> Store:
    """What the example plugin keeps."""
    return Store()


@pytest.fixture
def trouble() -> Troubled:
    """The layer in front of the example plugin that can make it fail."""
    return Troubled()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few hundred rows are several chunks of the journal."""
    monkeypatch.setattr(journal, "CHUNK_ROWS", 64)


@pytest.fixture
def serve(
    legacy: LegacyDatabase,
    store: Store,
    trouble: Troubled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Serve]:
    """Serve the example plugin without the named features; returns the command for it."""
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:

        def start(*without: str) -> Command:
            trouble.app = plugin(store, *without).app
            return Command(legacy.url, stack.enter_context(serving(trouble)), tmp_path)

        yield start
