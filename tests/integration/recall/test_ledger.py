"""What PostgreSQL knows about memories that lie in the plugin."""

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import asyncpg
import pytest

from postgres.codecs import json_as_python
from postgres.database import Database
from recall.app import SCHEMA
from recall.ledger import Ledger
from recall.memory import Memory, now
from recall.settings import Settings
from tests import timeouts

pytestmark = pytest.mark.anyio


@pytest.fixture
async def ledger(database: str) -> AsyncIterator[Ledger]:
    connection = await asyncpg.connect(database)
    try:
        await SCHEMA.migrate(connection)
    finally:
        await connection.close()
    settings = Settings(database_url=database, **timeouts.LIMITS)
    opened = Database(settings, name="test", search_path=SCHEMA.name, prepare=json_as_python)
    await opened.open()
    yield Ledger(opened)
    await opened.close()


@pytest.mark.parametrize(("days", "lacks"), [(None, True), (1, True), (-1, False)])
async def test_a_memory_that_has_expired_needs_no_vector(
    ledger: Ledger, days: int | None, lacks: bool
) -> None:
    moment = now()
    memory = Memory(
        id=str(uuid4()),
        api_key_id="ann",
        key="k",
        content="c",
        created_at=moment,
        updated_at=moment,
        expires_at=None if days is None else moment + timedelta(days=days),
    )
    assert not await ledger.lacks_vectors("some-model")
    async with ledger.writing(is_edit=False) as writing:
        await writing.wrote([memory])
    assert await ledger.lacks_vectors("some-model") is lacks
