"""Only a slow database costs other requests their memory, not a request that took too long."""

import asyncio
import json
from typing import Any, cast

import pytest

from postgres.database import Database
from postgres.errors import StoreUnavailable
from recall.headers import read_wishes
from recall.memory import Memory, now
from recall.recollection import Outcome, Recollection
from recall.rows import Found
from recall.store import MemoryStore
from recall.usage import Usage
from recall.watch import Watch
from tests.waiting import pass_time

pytestmark = pytest.mark.anyio
_BUDGET = 0.25


class _Database:
    """PostgreSQL, which answers when `answers` is set."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.answers.set()
        self.asked = asyncio.Event()

    async def fetch(self, _query: str, owners: list[str | None], _digests: Any) -> list[Any]:
        self.asked.set()
        await self.answers.wait()
        versions = ("settings_version", "keys_version", "all_edits", "own_edits", "shared_edits")
        row = dict.fromkeys(versions, 1) | {"seen": None, "block": None, "ids": None}
        return [row] * len(owners)

    async def fetchrow(self, _query: str) -> dict[str, Any]:
        return {"settings": {}, "settings_version": 1}

    async def execute(self, *_: object) -> int:
        return 0


class _Store:
    embedder = None

    async def newest(self, *_: object) -> Found:
        return Found()

    async def search(self, *_: object) -> Found:
        moment = now()
        fields: dict[str, Any] = {"created_at": moment, "updated_at": moment}
        return Found.of([Memory(id="i", api_key_id="a", key="k", content="I like tea", **fields)])


class _Usage:
    def accessed(self, ids: object) -> None:
        pass

    def looked(self, *_: object, **__: object) -> None:
        pass


@pytest.fixture
async def database() -> _Database:
    return _Database()


@pytest.fixture
async def watch(database: _Database) -> Watch:
    return Watch(cast(Database, database))


@pytest.fixture
async def recollection(watch: Watch) -> Recollection:
    store, usage = cast(MemoryStore, _Store()), cast(Usage, _Usage())
    return Recollection(store, watch, usage, dev_auth=True)


async def _ask(recollection: Recollection, owner: str) -> Outcome:
    body = json.dumps({"messages": [{"role": "user", "content": "which tea?"}]}).encode()
    outcome = await recollection.apply(body, "chat", owner, read_wishes([]))
    await recollection.aclose()
    return outcome


async def _let_run() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_worker_that_was_busy_does_not_blame_the_database(
    database: _Database, recollection: Recollection
) -> None:
    database.answers.clear()
    late = asyncio.create_task(_ask(recollection, "ada"))
    await database.asked.wait()
    pass_time(2 * _BUDGET)  # in one piece: nothing else could run meanwhile
    assert (await late).error == "timeout"
    database.answers.set()
    other = await _ask(recollection, "bob")
    assert (other.error, other.count) == (None, 1)


async def test_others_do_not_wait_for_a_slow_database(
    database: _Database, watch: Watch, recollection: Recollection
) -> None:
    database.answers.clear()
    late = asyncio.create_task(_ask(recollection, "ada"))
    await database.asked.wait()
    for _ in range(10):
        pass_time(_BUDGET / 5)
        await _let_run()
    assert (await late).error == "timeout"
    assert (await _ask(recollection, "bob")).error == "plugin"
    with pytest.raises(StoreUnavailable):
        await watch.look()
    database.answers.set()
    await _let_run()
    # It has answered, so it is asked again at once.
    assert (await _ask(recollection, "bob")).count == 1
