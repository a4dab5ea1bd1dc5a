"""One worker's caches never hide what another has changed: keys, sessions, resources."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.integration.gateway import people
from tests.integration.gateway.people import Gateway, Person, checked, message
from tests.integration.gateway.plugin import Switchboard

pytestmark = pytest.mark.anyio

EVERYTHING: dict[str, Any] = {"scope": ["all_user_memory"]}
CHAT_AND_RESOURCES: dict[str, Any] = {
    "scope": ["current_chat", "resources"],
    "conversation_id": "1",
}


@pytest.fixture(scope="module")
async def other_worker(store: str, shared_plugin: Switchboard) -> AsyncIterator[Gateway]:
    async with people.gateway(store, shared_plugin.client()) as running:
        yield running


@pytest.fixture
async def elsewhere(ann: Person, other_worker: Gateway) -> Person:
    """Ann at the other worker; this one has searched and flushed for her already."""
    await ann.say("chat:1", "tea in the morning")
    for scope in (EVERYTHING, CHAT_AND_RESOURCES):
        for _ in range(2):
            assert len(await ann.search("tea", **scope)) == 1
    return replace(ann, http=other_worker.http)


async def test_ruling_8_a_resource_of_another_worker_is_found_at_once(
    ann: Person, elsewhere: Person
) -> None:
    await elsewhere.upload("tea of the mountains")
    assert len(await ann.search("tea", **CHAT_AND_RESOURCES)) == 2
    assert len(await ann.search("tea", **EVERYTHING)) == 2


async def test_ruling_8_a_session_of_another_worker_is_found_at_once(
    ann: Person, elsewhere: Person
) -> None:
    await elsewhere.say("chat:2", "tea in the evening")
    assert len(await ann.search("tea", **EVERYTHING)) == 2


async def test_ruling_8_the_first_session_is_found_where_a_search_found_none(
    ann: Person, other_worker: Gateway
) -> None:
    for scope in (EVERYTHING, CHAT_AND_RESOURCES):
        for _ in range(2):
            assert await ann.search("tea", **scope) == []
    await replace(ann, http=other_worker.http).say("chat:1", "tea in the morning")
    assert len(await ann.search("tea", **EVERYTHING)) == 1
    assert len(await ann.search("tea", **CHAT_AND_RESOURCES)) == 1


async def test_ruling_17_of_many_sessions_one_that_another_worker_deleted_is_not_searched(
    ann: Person, elsewhere: Person
) -> None:
    for number in range(2, 42):
        await ann.say(f"chat:{number}", f"tea of the year {number}")
    for _ in range(2):
        assert len(await ann.search("tea", **EVERYTHING, top_k=100)) == 41
    assert (await elsewhere.delete("/sessions/chat:7")).status_code == 204
    await elsewhere.say("chat:new", "tea of next year")
    found = {it["session_id"] for it in await ann.search("tea", **EVERYTHING, top_k=100)}
    assert len(found) == 41
    assert "chat:7" not in found
    assert "chat:new" in found


async def test_ruling_3_a_key_that_another_worker_replaced_fails_at_once(
    ann: Person, elsewhere: Person
) -> None:
    await ann.add("chat:1", message("tea at noon"))
    new = checked(await elsewhere.http.post(f"/users/{ann.user_id}/rotate-key"), 200)["user_key"]
    for path, fields in (
        ("/memories/search", {"query": "tea", **EVERYTHING}),
        ("/memories/search", {"query": "tea", **CHAT_AND_RESOURCES}),
        ("/memories/flush", {"session_id": "chat:1"}),
        ("/memories/add", {"session_id": "chat:1", "messages": [message("more")]}),
    ):
        checked(await ann.post(path, **fields), 401)
    ann = replace(ann, key=new)
    assert (await ann.flush("chat:1"))["message_count"] == 1
    assert len(await ann.search("tea", **CHAT_AND_RESOURCES)) == 2


async def test_ruling_17_a_session_that_another_worker_deleted_is_not_searched(
    ann: Person, elsewhere: Person
) -> None:
    assert (await elsewhere.delete("/sessions/chat:1")).status_code == 204
    assert await ann.search("tea", **CHAT_AND_RESOURCES) == []
    assert await ann.search("tea", **EVERYTHING) == []


async def test_ruling_20_a_session_made_again_at_another_worker_is_flushed(
    ann: Person, elsewhere: Person
) -> None:
    assert (await elsewhere.delete("/sessions/chat:1")).status_code == 204
    await elsewhere.add("chat:1", message("tea at night"))
    assert (await ann.flush("chat:1"))["status"] == "extracted"
    assert await ann.texts("tea", **CHAT_AND_RESOURCES) == ["User: tea at night"]


async def test_ruling_4_a_user_that_another_worker_deleted_gets_401(
    ann: Person, elsewhere: Person
) -> None:
    assert (await elsewhere.delete(f"/users/{ann.user_id}")).status_code == 204
    checked(await ann.post("/memories/search", query="tea", **CHAT_AND_RESOURCES), 401)
    checked(await ann.post("/memories/flush", session_id="chat:1"), 401)
