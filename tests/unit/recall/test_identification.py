"""A caller is identified even if memory has too little time, or the database is away."""

import asyncio
import json
from typing import Any, cast

import pytest

from postgres.database import Database
from postgres.errors import StoreUnavailable
from recall.headers import read_wishes
from recall.keys import PREFIX
from recall.recollection import Outcome, Recollection
from recall.store import MemoryStore
from recall.usage import Usage
from recall.watch import Watch
from tests.waiting import SECONDS

pytestmark = pytest.mark.anyio
_KEY = PREFIX + "k" * 40


class _Database:
    """PostgreSQL with one key, which is found when `answers` is set."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.answers.set()
        self.is_away = False
        self.is_disabled = False
        self.keys_version = 1
        self.lookups = 0
        self.was_asked_again = asyncio.Event()

    async def fetch(self, _query: str, owners: list[str | None], _digests: Any) -> list[Any]:
        if self.is_away:
            raise StoreUnavailable("away")
        row = dict.fromkeys(("all_edits", "own_edits", "shared_edits"), 1)
        row |= {"settings_version": 1, "keys_version": self.keys_version}
        return [row | {"seen": None, "block": None, "ids": None}] * len(owners)

    async def fetchrow(self, _query: str, *digest: bytes) -> dict[str, Any]:
        if not digest:
            return {"settings": {"retrievalBudgetMs": 1}, "settings_version": 1}
        self.lookups += 1
        if self.lookups == 2:
            self.was_asked_again.set()
        await self.answers.wait()
        return {"id": "ada", "disabled": self.is_disabled, "keys_version": self.keys_version}


@pytest.fixture
async def database() -> _Database:
    return _Database()


@pytest.fixture
async def recollection(database: _Database, monkeypatch: pytest.MonkeyPatch) -> Recollection:
    # A busy machine may stand still for longer than a key is looked up.
    monkeypatch.setattr("recall.recollection._SEEN_KEY_SECONDS", SECONDS)
    monkeypatch.setattr("recall.recollection._NEW_KEY_SECONDS", SECONDS)
    watch = Watch(cast(Database, database))
    await watch.configuration()
    unused = cast(MemoryStore, None), watch, cast(Usage, None)
    return Recollection(*unused, dev_auth=False)


async def _ask(recollection: Recollection) -> Outcome:
    body = json.dumps({"messages": [{"role": "user", "content": "which tea?"}]}).encode()
    return await recollection.apply(body, "chat", _KEY, read_wishes([]))


async def test_a_new_key_is_looked_up_for_longer_than_memories(
    database: _Database, recollection: Recollection
) -> None:
    database.answers.clear()
    asked = asyncio.create_task(_ask(recollection))
    await database.was_asked_again.wait()
    database.answers.set()
    outcome = await asked
    assert (outcome.owner, outcome.error, outcome.is_unsure) == ("ada", "timeout", False)


async def test_a_key_that_was_disabled_is_refused_even_if_that_takes_long(
    database: _Database, recollection: Recollection
) -> None:
    known = await recollection.who(_KEY)
    assert known is not None
    assert not known.disabled
    database.answers.clear()
    database.is_disabled = True
    database.keys_version, database.lookups = 2, 0
    asked = asyncio.create_task(_ask(recollection))
    await database.was_asked_again.wait()
    database.answers.set()
    assert (await asked).is_disabled


async def test_while_the_database_is_away_a_key_is_taken_as_it_was(
    database: _Database, recollection: Recollection
) -> None:
    await recollection.who(_KEY)
    database.is_away = True
    outcome = await _ask(recollection)
    assert (outcome.owner, outcome.error, outcome.is_unsure) == ("ada", "plugin", False)


async def test_while_the_database_is_away_a_new_key_is_neither_known_nor_unknown(
    database: _Database, recollection: Recollection
) -> None:
    database.is_away = True
    outcome = await _ask(recollection)
    assert (outcome.owner, outcome.is_unsure) == (None, True)
    with pytest.raises(StoreUnavailable):
        await recollection.who(_KEY)


async def test_a_token_that_is_none_of_our_keys_is_unknown_without_a_lookup(
    database: _Database, recollection: Recollection
) -> None:
    database.is_away = True
    assert await recollection.who("sk-mine") is None
    body = json.dumps({"messages": [{"role": "user", "content": "which tea?"}]}).encode()
    outcome = await recollection.apply(body, "chat", "sk-mine", read_wishes([]))
    assert (outcome.body, outcome.owner, outcome.is_unsure) == (body, None, False)
    assert database.lookups == 0
