import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.backfill.target import TargetPlugin
from tests.conftest import database_url, execute
from tests.faults.plugin import Plugin
from tests.integration.backfill.command import Command
from tests.integration.backfill.legacy import LegacyDatabase


@pytest.fixture(scope="session")
def _process(
    cluster: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Plugin, str]]:
    execute(cluster, 'CREATE DATABASE "backfill_target"')
    url = database_url(cluster, "backfill_target")
    plugin = Plugin(tmp_path_factory.mktemp("plugin"), url, "127.0.0.1:0")
    plugin.start()
    try:
        asyncio.run(plugin.ready())
        yield plugin, url
    finally:
        plugin.kill()


@pytest.fixture
def target(_process: tuple[Plugin, str]) -> TargetPlugin:
    """The real plugin as a process, with nothing in it."""
    plugin, url = _process
    target = TargetPlugin(plugin.address, url)
    target.wipe()
    return target


@pytest.fixture
def legacy(database: str) -> LegacyDatabase:
    """Empty legacy tables with all columns but the embedding."""
    return LegacyDatabase(database)


@pytest.fixture
def backfill(
    legacy: LegacyDatabase,
    target: TargetPlugin,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Command:
    """The command, from the legacy tables to the plugin."""
    monkeypatch.chdir(tmp_path)
    return Command(legacy.url, target.url, tmp_path)
