"""The janitor deletes what expired long ago; what expired recently can still be restored."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from plugin_postgres.database import Database
from plugin_postgres.janitor import Janitor
from plugin_postgres.metrics import Metrics
from plugin_postgres.schema import SCHEMA
from plugin_postgres.settings import Settings
from tests import timeouts
from tests.waiting import SECONDS, eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(migrated: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(migrated)
    await connection.execute(
        """
        INSERT INTO memory_plugin.memory_namespaces (name, kind, expires_at) VALUES
            ('team:lives', 'team', NULL),
            ('team:just-expired', 'team', now() - interval '23 hours'),
            ('team:long-expired', 'team', now() - interval '25 hours'),
            ('team:deleted', 'team', '-infinity');
        INSERT INTO memory_plugin.memory_records (namespace, content, kind, source, expires_at)
        SELECT namespace, expires_at::text, 'fact', 'agent', now() + expires_at
        FROM unnest(ARRAY[
            'team:lives', 'team:just-expired', 'team:long-expired', 'team:deleted'
        ]) AS namespace
        CROSS JOIN unnest(ARRAY[interval '-25 hours', interval '-23 hours', interval '1 hour'])
            AS expires_at
        CROSS JOIN generate_series(1, 7);
        INSERT INTO memory_plugin.memory_records (namespace, content, kind, source)
        VALUES ('team:lives', 'forever', 'fact', 'agent');
        """
    )
    yield connection
    await connection.close()


@pytest.fixture
async def janitor(migrated: str) -> AsyncIterator[Janitor]:
    settings = Settings(database_url=migrated, janitor_batch=3, **timeouts.LIMITS)
    database = Database(settings)
    await database.open()
    yield Janitor(database, Metrics(), settings)
    await database.close()


async def left(store: asyncpg.Connection) -> dict[str, int]:
    rows = await store.fetch(
        "SELECT name, (SELECT count(*) FROM memory_plugin.memory_records WHERE namespace = name)"
        " AS rows FROM memory_plugin.memory_namespaces"
    )
    return {row["name"]: row["rows"] for row in rows}


async def test_only_what_expired_before_the_grace_period_goes(
    janitor: Janitor, store: asyncpg.Connection
) -> None:
    assert await janitor.clean()
    assert await left(store) == {"team:lives": 15, "team:just-expired": 14}
    assert janitor._metrics.expired.labels("namespaces")._value.get() == 2
    assert janitor._metrics.expired.labels("memories")._value.get() == 4 * 7 + 2 * 14


async def test_one_janitor_at_a_time(janitor: Janitor, store: asyncpg.Connection) -> None:
    await store.execute("SELECT pg_advisory_lock($1)", SCHEMA.lock("janitor"))
    before = await left(store)
    assert not await janitor.clean()
    assert await left(store) == before
    await store.execute("SELECT pg_advisory_unlock($1)", SCHEMA.lock("janitor"))
    assert await janitor.clean()


async def test_a_locked_row_is_skipped_and_deleted_the_next_time(
    janitor: Janitor, store: asyncpg.Connection
) -> None:
    transaction = store.transaction()
    await transaction.start()
    await store.execute(
        "SELECT FROM memory_plugin.memory_records WHERE namespace = 'team:lives'"
        " ORDER BY expires_at LIMIT 1 FOR UPDATE"
    )
    await asyncio.wait_for(janitor.clean(), SECONDS)
    await transaction.rollback()
    assert (await left(store))["team:lives"] == 16
    await janitor.clean()
    assert (await left(store))["team:lives"] == 15


async def test_it_runs_by_itself_and_survives_a_failure(
    migrated: str, store: asyncpg.Connection, monkeypatch: Any
) -> None:
    settings = Settings(database_url=migrated, janitor_interval=0.1, **timeouts.LIMITS)
    database = Database(settings)
    await database.open()
    janitor = Janitor(database, Metrics(), settings)
    rounds: list[int] = []
    clean = janitor.clean

    async def fails_at_first() -> bool:
        rounds.append(1)
        if len(rounds) == 1:
            raise RuntimeError
        return await clean()

    monkeypatch.setattr(janitor, "clean", fails_at_first)
    task = asyncio.create_task(janitor.run())

    async def is_clean() -> bool:
        return len(await left(store)) <= 2

    await eventually(is_clean)
    task.cancel()
    await asyncio.wait([task])
    await database.close()


async def test_a_grace_period_before_the_calendar_begins_keeps_all_but_what_was_deleted(
    store: asyncpg.Connection, migrated: str
) -> None:
    settings = Settings(database_url=migrated, janitor_grace=1e18, **timeouts.LIMITS)
    database = Database(settings)
    before = await left(store)
    assert await Janitor(database, Metrics(), settings).clean()
    await database.close()
    del before["team:deleted"]
    assert await left(store) == before
