"""A flush takes what its worker has added without reading it, and only if nothing else happened."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from gateway.app import PLANS
from gateway.flush import Flush
from gateway.statements import load
from tests.integration.gateway import people
from tests.integration.gateway.people import Gateway, Person, checked, message, turn
from tests.integration.gateway.plugin import Switchboard
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

FLUSH = "/memories/flush"
SETTINGS = {"search_path": "memory_gateway", **PLANS}
NOTHING: list[list[object]] = [[] for _ in range(10)]


@pytest.fixture(scope="module")
async def other_worker(store: str, shared_plugin: Switchboard) -> AsyncIterator[Gateway]:
    async with people.gateway(store, shared_plugin.client()) as running:
        yield running


@pytest.fixture
async def ann(gateway: Gateway) -> Person:
    """Her chat has been flushed twice: the gateway knows that the plugin has its namespace."""
    ann = await gateway.person()
    for number in range(2):
        await ann.say("chat:1", f"tea {number}")
    return ann


@pytest.fixture
async def elsewhere(ann: Person, other_worker: Gateway) -> Person:
    return replace(ann, http=other_worker.http)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sessions that a flush has read; retries of what an earlier one took do not count."""
    sessions = []
    flush_session = Flush._flush_session

    async def noted(self: Flush, session: int, *given: Any, take: bool = True) -> Any:
        if take:
            sessions.append(session)
        return await flush_session(self, session, *given, take=take)

    monkeypatch.setattr(Flush, "_flush_session", noted)
    return sessions


@pytest.fixture
async def connections(store: str) -> AsyncIterator[list[asyncpg.Connection]]:
    opened = [await asyncpg.connect(store, server_settings=SETTINGS) for _ in range(2)]
    yield opened
    for connection in opened:
        await connection.close()


async def test_what_this_worker_added_is_flushed_unread(
    ann: Person, plugin: Switchboard, read: list[int]
) -> None:
    await ann.add("chat:1", *turn("My name is Ann and I like tea."))
    await ann.add("chat:1", message("ls", "tool"), *turn("tea again"))
    flushed = await ann.flush("chat:1")
    assert (flushed["status"], flushed["message_count"], flushed["memory_count"]) == (
        "extracted",
        5,
        3,
    )
    assert read == []
    assert plugin.texts(ann.user_id)[0] == "My name is Ann and I like tea."
    assert len(plugin.texts(ann.user_id)) == 5
    assert (await ann.flush("chat:1"))["status"] == "no_extraction"


async def test_a_memory_has_the_time_of_its_message_read_or_not(
    ann: Person, read: list[int]
) -> None:
    last = 253_402_300_799_999
    for session, content in (("chat:2", "read juice"), ("chat:1", "unread juice")):
        await ann.add(session, message(content, timestamp=last))
        await ann.flush(session)
    assert len(read) == 1
    found = [it["raw"]["created_at"] for it in await ann.search("juice")]
    assert found == ["9999-12-31T23:59:59.999000Z"] * 2


async def test_what_another_worker_added_before_or_after_is_flushed_too(
    ann: Person, elsewhere: Person, plugin: Switchboard
) -> None:
    for first, second in ((ann, elsewhere), (elsewhere, ann)):
        await first.add("chat:1", *turn("tea first"))
        await second.add("chat:1", *turn("tea second"))
        assert (await ann.flush("chat:1"))["message_count"] == 4
    assert sorted(plugin.texts(ann.user_id)) == sorted(
        f"User: tea {it}\nAssistant: Noted." for it in ("0", "1", *("first", "second") * 2)
    )


async def test_what_another_worker_has_flushed_is_not_flushed_again(
    ann: Person, elsewhere: Person, plugin: Switchboard
) -> None:
    await ann.add("chat:1", *turn("tea 2"))
    assert (await elsewhere.flush("chat:1"))["status"] == "extracted"
    assert (await ann.flush("chat:1"))["status"] == "no_extraction"
    await ann.add("chat:1", *turn("tea 3"))
    assert (await elsewhere.flush("chat:1"))["status"] == "extracted"
    await ann.add("chat:1", *turn("tea 4"))
    assert (await ann.flush("chat:1"))["message_count"] == 2
    assert len(plugin.texts(ann.user_id)) == 5


async def test_a_message_that_was_known_before_is_not_flushed_again(
    ann: Person, plugin: Switchboard
) -> None:
    old, new, newer = turn("tea 2"), turn("tea 3"), turn("tea 4")
    await ann.add("chat:1", *old)
    await ann.flush("chat:1")
    await ann.add("chat:1", *new)
    assert (await ann.add("chat:1", *old, *newer))["duplicate_count"] == 2
    assert (await ann.flush("chat:1"))["message_count"] == 4
    assert len(plugin.texts(ann.user_id)) == 5


async def test_messages_under_an_idempotency_key_are_flushed_with_the_others(ann: Person) -> None:
    await ann.add("chat:1", *turn("tea 2"))
    body = {"session_id": "chat:1", "messages": turn("tea 3")}
    checked(await ann.post("/memories/add", {"Idempotency-Key": str(uuid4())}, **body), 200)
    await ann.add("chat:1", *turn("tea 4"))
    assert (await ann.flush("chat:1"))["message_count"] == 6


async def test_a_session_that_another_worker_has_deleted_stays_empty(
    ann: Person, elsewhere: Person, plugin: Switchboard
) -> None:
    await ann.add("chat:1", *turn("tea 2"))
    assert (await elsewhere.delete("/sessions/chat:1")).status_code == 204
    assert (await ann.flush("chat:1"))["status"] == "no_extraction"
    assert plugin.texts(ann.user_id) == []


async def test_only_what_was_added_after_a_deletion_is_flushed(
    ann: Person, elsewhere: Person, plugin: Switchboard
) -> None:
    same = turn("tea 2")
    await ann.add("chat:1", *same, *turn("tea 3"))
    assert (await elsewhere.delete("/sessions/chat:1")).status_code == 204
    await elsewhere.add("chat:1", *same)
    assert (await ann.flush("chat:1"))["message_count"] == 2
    assert plugin.texts(ann.user_id) == ["User: tea 2\nAssistant: Noted."]


async def test_an_earlier_flush_that_failed_is_completed_too(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.add("chat:1", *turn("tea 2"))
    plugin.is_down = True
    checked(await ann.post(FLUSH, session_id="chat:1"), 503)
    await ann.add("chat:1", *turn("tea 3"))
    plugin.is_down = False
    assert (await ann.flush("chat:1"))["status"] == "extracted"
    assert len(plugin.texts(ann.user_id)) == 4


async def test_a_refused_memory_is_retried_and_does_not_hold_up_the_others(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.add("chat:1", *turn("tea 2"), *turn("poison"), *turn("tea 3"))
    plugin.refuses = lambda body: "poison" in body
    checked(await ann.post(FLUSH, session_id="chat:1"), 503)
    assert len(plugin.texts(ann.user_id)) == 4
    plugin.reset()
    assert (await ann.flush("chat:1"))["status"] == "extracted"
    assert len(plugin.texts(ann.user_id)) == 5


async def test_concurrent_adds_and_flushes_at_two_workers_lose_and_repeat_nothing(
    ann: Person, elsewhere: Person, plugin: Switchboard
) -> None:
    async def talk(person: Person, name: int) -> int:
        count = 0
        for number in range(8):
            await person.add("chat:1", *turn(f"coffee {name} {number}"))
            count += (await person.flush("chat:1"))["message_count"]
        return count

    talks = [talk(person, name) for name, person in enumerate((ann, elsewhere) * 3)]
    assert sum(await asyncio.gather(*talks)) == 6 * 8 * 2
    said = [it for text in plugin.texts(ann.user_id) for it in text.splitlines() if "coffee" in it]
    assert sorted(said) == [f"User: coffee {name} {it}" for name in range(6) for it in range(8)]


async def test_nothing_is_taken_without_the_lock(
    ann: Person, connections: list[asyncpg.Connection]
) -> None:
    holder, taking = connections
    await ann.add("chat:1", *turn("tea 2"))
    arguments = await _arguments(taking, ann)
    await holder.execute("SELECT pg_advisory_lock($1)", arguments[0])
    assert await _take(taking, arguments) == (False, False)
    assert await _buffered(taking, arguments) == 2
    await holder.execute("SELECT pg_advisory_unlock_all()")
    assert await _take(taking, arguments) == (True, True)
    assert await _buffered(taking, arguments) == 0


async def test_messages_that_another_flush_is_taking_are_not_taken_again(
    ann: Person, connections: list[asyncpg.Connection]
) -> None:
    """As when the other flush commits after this statement has begun."""
    other, taking = connections
    await ann.add("chat:1", *turn("tea 2"))
    arguments = await _arguments(taking, ann)
    take: asyncio.Task[Any]
    async with other.transaction():
        mine = await _arguments(other, ann)
        assert await _take(other, mine) == (True, True)
        await other.execute("SELECT pg_advisory_unlock_all()")
        take = asyncio.create_task(_take(taking, arguments))
        await _waits(other, taking)
    with pytest.raises(asyncpg.NotNullViolationError):
        await take
    assert await taking.fetchval("SELECT count(*) FROM batches WHERE id = $1", arguments[1]) == 0


async def test_a_session_that_is_being_deleted_is_not_taken(
    ann: Person, connections: list[asyncpg.Connection]
) -> None:
    deleting, taking = connections
    await ann.add("chat:1", *turn("tea 2"))
    arguments = await _arguments(taking, ann)
    [row] = await deleting.fetch("SELECT * FROM sessions WHERE id = $1", arguments[12])
    take: asyncio.Task[Any]
    async with deleting.transaction():
        where = row["owner"], row["app_id"], row["project_id"], row["name"]
        assert len(await deleting.fetch(load("delete_session"), *where)) == 1
        take = asyncio.create_task(_take(taking, arguments))
        await _waits(deleting, taking)
    with pytest.raises(asyncpg.NotNullViolationError):
        await take


async def test_a_message_that_is_added_meanwhile_stays_in_the_buffer(
    ann: Person, connections: list[asyncpg.Connection]
) -> None:
    adding, taking = connections
    await ann.add("chat:1", *turn("tea 2"))
    arguments = await _arguments(taking, ann)
    take: asyncio.Task[Any]
    async with adding.transaction():
        [row] = await adding.fetch("SELECT * FROM sessions WHERE id = $1", arguments[12])
        session = row["owner"], arguments[13], *row[2:5], row["namespace"]
        new = 1, b"another", "user", "ann", 1_780_000_000_000, "tea 3"
        await adding.fetchrow(load("add_messages"), [session], [new])
        take = asyncio.create_task(_take(taking, arguments))
        await _waits(adding, taking)
    assert await take == (True, True)
    assert await _buffered(taking, arguments) == 1
    is_buffering = "SELECT is_buffering FROM sessions WHERE id = $1"
    assert await taking.fetchval(is_buffering, arguments[12])


async def _arguments(connection: asyncpg.Connection, person: Person) -> list[Any]:
    """The arguments of `take_added` for what is in the chat now, with no memories."""
    [row] = await connection.fetch(
        "SELECT sessions.id, key_sha256,"
        " ARRAY(SELECT digest FROM messages WHERE session = sessions.id AND batch IS NULL"
        " ORDER BY number) AS digests"
        " FROM sessions JOIN users ON users.id = owner WHERE user_id = $1 AND name = 'chat:1'",
        person.user_id,
    )
    return [row["id"], uuid4(), *NOTHING, *row]


async def _take(connection: asyncpg.Connection, arguments: list[Any]) -> tuple[Any, ...]:
    """Whether the lock was acquired, and whether anything was taken."""
    [row] = await connection.fetch(load("take_added"), *arguments)
    return tuple(row)


async def _buffered(connection: asyncpg.Connection, arguments: list[Any]) -> Any:
    return await connection.fetchval(
        "SELECT count(*) FROM messages WHERE session = $1 AND batch IS NULL", arguments[12]
    )


async def _waits(watching: asyncpg.Connection, waiting: asyncpg.Connection) -> None:
    pid = waiting.get_server_pid()
    blocked = "SELECT cardinality(pg_blocking_pids($1)) > 0"
    await eventually(lambda: watching.fetchval(blocked, pid))
