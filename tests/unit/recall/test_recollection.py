"""A search that starts before PostgreSQL has answered is used if nothing has changed since."""

import asyncio
import json
from dataclasses import replace
from typing import Any, cast

import pytest

from contract import Unavailable
from recall.configuration import Configuration
from recall.headers import Wishes, read_wishes
from recall.memory import Memory, now
from recall.recollection import Recollection
from recall.rows import Found
from recall.selection import Selection
from recall.store import MemoryStore
from recall.usage import Usage
from recall.watch import Choice, Glance, Watch

pytestmark = pytest.mark.anyio
_UNCHANGED = Glance(1, 1, 0, 0, 0)


class _Store:
    """Two searches for each question; `memories` are what they find."""

    embedder = None

    def __init__(self) -> None:
        self.memories = [_memory("I like tea"), _memory("I like coffee")]
        self.searches = 0
        self.was_searched = asyncio.Event()

    async def newest(self, _selection: Selection, _limit: int) -> Found:
        return Found.of(self.memories)

    async def search(self, _selection: Selection, _words: str, _limit: int) -> Found:
        self.searches += 1
        self.was_searched.set()
        return Found.of(self.memories)


class _Watch:
    """What PostgreSQL says: `glance` now, `known` the last time; `look` may change the world."""

    last_configuration = Configuration()
    is_suspect = False

    def __init__(self, store: _Store) -> None:
        self.glance = self.known = _UNCHANGED
        self.kept: list[tuple[str, Choice]] = []
        self._store = store

    async def look(self, _owner: str | None, _digest: bytes | None) -> Glance:
        return self.glance

    async def configuration(self, _glance: Glance) -> Configuration:
        return self.last_configuration

    def last_mark(self, _owner: str, scope: str) -> str | None:
        return self.known.mark(scope)

    async def keep(self, _digest: bytes, mark: str, choice: Choice, _until: Any) -> None:
        self.kept.append((mark, choice))


class _Usage:
    def accessed(self, ids: tuple[str, ...]) -> None:
        pass

    def looked(self, owner: str, session_id: str, *, found: bool, tokens: int) -> None:
        pass


def _memory(content: str) -> Memory:
    moment = now()
    return Memory(
        id=content, api_key_id="ada", key="k", content=content, created_at=moment, updated_at=moment
    )


@pytest.fixture
def store() -> _Store:
    return _Store()


@pytest.fixture
def watch(store: _Store) -> _Watch:
    return _Watch(store)


@pytest.fixture
def recollection(store: _Store, watch: _Watch) -> Recollection:
    return Recollection(
        cast(MemoryStore, store), cast(Watch, watch), cast(Usage, _Usage()), dev_auth=True
    )


async def _ask(recollection: Recollection, text: str = "what do I like?") -> str:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    wishes: Wishes = read_wishes([])
    outcome = await recollection.apply(body, "chat", "ada", wishes)
    await recollection.aclose()
    return outcome.body.decode()


async def test_a_search_that_was_begun_early_is_used(
    store: _Store, watch: _Watch, recollection: Recollection
) -> None:
    assert "I like tea" in await _ask(recollection)
    assert store.searches == 1
    assert [mark for mark, _ in watch.kept] == [_UNCHANGED.mark("apiKey")]


async def test_what_was_changed_meanwhile_is_searched_for_again(
    store: _Store, watch: _Watch, recollection: Recollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(_owner: str | None, _digest: bytes | None) -> Glance:
        await store.was_searched.wait()
        # Somebody deletes a memory that the search has seen.
        store.memories = store.memories[1:]
        return replace(_UNCHANGED, own_edits=1)

    monkeypatch.setattr(watch, "look", look)
    body = await _ask(recollection)
    assert "I like tea" not in body
    assert "I like coffee" in body
    [(_, choice)] = watch.kept
    assert choice.ids == ("I like coffee",)


async def test_a_turn_that_is_known_is_not_searched_for(
    store: _Store, watch: _Watch, recollection: Recollection
) -> None:
    first = await _ask(recollection)
    mark, choice = watch.kept[0]
    watch.glance = replace(_UNCHANGED, seen=mark, choice=choice)
    assert await _ask(recollection) == first
    assert store.searches == 1


async def test_an_owner_who_was_never_looked_at_is_not_searched_for_early(
    store: _Store, recollection: Recollection, watch: _Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    async def look(_owner: str | None, _digest: bytes | None) -> Glance:
        for _ in range(5):
            await asyncio.sleep(0)
        seen.append(store.searches)
        return _UNCHANGED

    monkeypatch.setattr(watch, "last_mark", lambda _owner, _scope: None)
    monkeypatch.setattr(watch, "look", look)
    assert "I like tea" in await _ask(recollection)
    assert (seen, store.searches) == ([0], 1)


async def test_a_search_that_fails_ends_the_one_beside_it(
    store: _Store, recollection: Recollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []

    async def newest(_selection: Selection, _limit: int) -> Found:
        never: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        try:
            return await never
        finally:
            ended.append("newest")

    async def search(_selection: Selection, _words: str, _limit: int) -> Found:
        await asyncio.sleep(0)
        raise Unavailable("the plugin is down")

    monkeypatch.setattr(store, "newest", newest)
    monkeypatch.setattr(store, "search", search)
    assert "memory-context" not in await _ask(recollection)
    assert ended == ["newest"]
