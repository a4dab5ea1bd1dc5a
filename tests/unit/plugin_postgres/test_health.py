"""Whether the store is up is known after a while, even if it never answers."""

import asyncio

import pytest

from plugin_postgres.database import Database
from plugin_postgres.settings import Settings
from postgres import database as module
from tests.waiting import pass_time

pytestmark = pytest.mark.anyio


async def test_a_store_that_never_answers_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(Settings(database_url="postgresql://nowhere/memories"))
    asked = asyncio.Event()

    async def never() -> None:
        asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(database, "_connect", never)
    answer = asyncio.create_task(database.is_up())
    await asked.wait()
    pass_time(module._HEALTH_SECONDS)
    assert await answer is False
