"""The indexer works in the background, and nobody starts it again when it dies."""

import asyncio

import asyncpg
import pytest

from plugin_postgres import indexer
from plugin_postgres.database import Database
from plugin_postgres.settings import Settings
from tests import timeouts
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


async def test_it_survives_a_time_when_no_host_accepts_writes(
    migrated: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connection = await asyncpg.connect(migrated)
    name = await connection.fetchval("SELECT current_database()")
    await connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    await connection.close()
    monkeypatch.setattr(indexer, "_INTERVAL_SECONDS", 0.01)
    settings = Settings(database_url=migrated, **timeouts.LIMITS)
    running = asyncio.create_task(indexer.Indexer(Database(settings), settings).run())
    try:
        await eventually(lambda: running.done() or caplog.messages.count("indexing failed") >= 2)
        assert not running.done()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
