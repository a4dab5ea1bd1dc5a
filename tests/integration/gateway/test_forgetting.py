"""Rulings 17 to 21: forgetting, editing, export."""

import asyncio
import json
from typing import Any
from urllib.parse import quote

import asyncpg
import httpx
import pytest

from contract import Extension
from gateway.batch import Batch
from gateway.deletion import Deletion
from gateway.flush import Flush
from gateway.schema import SCHEMA
from gateway.settings import Settings
from gateway.statements import load
from postgres.database import Database
from tests import timeouts
from tests.integration.gateway import people
from tests.integration.gateway.people import Person, checked, message, turn
from tests.integration.gateway.plugin import Switchboard, switchboard
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

FLUSH = "/memories/flush"
MEMORY = {"id", "app_id", "project_id", "session_id", "text", "created_at", "resource_uri", "raw"}


async def only(person: Person, query: str) -> dict[str, Any]:
    [found] = await person.search(query)
    return found


async def test_ruling_17_a_confirmed_deletion_is_204_and_a_repeat_404(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.say("chat:1", "Talk of tea")
    resource = await ann.upload("Some paper.")
    memory = await only(ann, "tea")
    for path in (
        f"/memories/{memory['id']}",
        "/sessions/chat:1",
        f"/resources/{resource['resource_id']}",
    ):
        assert (await ann.delete(path)).status_code == 204
        checked(await ann.delete(path), 404)
    assert plugin.texts(ann.user_id) == []
    assert (await ann.delete(f"/users/{ann.user_id}")).status_code == 204
    checked(await ann.delete(f"/users/{ann.user_id}"), 401)


async def test_ruling_17_of_deletions_of_a_user_at_once_one_succeeds(ann: Person) -> None:
    await ann.say("chat:1", "Talk of tea")
    path = f"/users/{ann.user_id}"
    answers = await asyncio.gather(*(ann.delete(path) for _ in range(5)))
    assert sorted(it.status_code for it in answers) == [204] + [401] * 4
    assert len({it.content for it in answers if it.status_code == 401}) == 1


async def test_ruling_17_without_the_plugin_it_is_still_gone(
    ann: Person, bob: Person, plugin: Switchboard
) -> None:
    await ann.say("chat:1", "Talk of tea")
    await ann.say("chat:2", "Talk of coffee")
    await bob.say("chat:1", "Talk of water")
    resource = await ann.upload("Some paper.")
    memory = await only(ann, "tea")
    plugin.is_down = True
    for person, path in (
        (ann, f"/memories/{memory['id']}"),
        (ann, "/sessions/chat:2"),
        (ann, f"/resources/{resource['resource_id']}"),
        (bob, f"/users/{bob.user_id}"),
    ):
        answer = await person.delete(path)
        assert checked(answer, 202) == {"status": "deleting"}
        repeat = 401 if person is bob else 404
        checked(await person.delete(path), repeat)
    plugin.requests.clear()
    plugin.is_down = False
    # From that instant nothing returns it, although the plugin still has it.
    assert await ann.search("tea") == []
    assert await ann.search("coffee paper") == []
    checked(await bob.post("/memories/search", query="water"), 401)

    async def is_forgotten() -> bool:
        return not plugin.texts(ann.user_id) and not plugin.texts(bob.user_id)

    await eventually(is_forgotten)


async def test_ruling_18_a_flush_in_flight_brings_nothing_back(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.add("chat:1", *turn("Talk of tea"))
    plugin.held = "POST /v1/memories/batch"
    flush = asyncio.create_task(ann.post(FLUSH, session_id="chat:1"))
    await plugin.arrived.wait()
    deletion = asyncio.create_task(ann.delete("/sessions/chat:1"))
    await eventually(lambda: _is_gone(ann, "chat:1"))
    plugin.held = None
    assert (await deletion).status_code == 204
    assert (await flush).status_code == 200
    assert await ann.search("tea") == []
    assert plugin.texts(ann.user_id) == []
    assert plugin.spaces(ann.user_id) == []


async def test_ruling_18_a_session_deleted_before_its_flush_takes_anything_has_nothing_to_extract(
    ann: Person, plugin: Switchboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ann.add("chat:1", *turn("Talk of tea"))
    take = Flush._take

    async def late(self: Flush, *arguments: Any) -> Batch:
        deletion = asyncio.create_task(ann.delete("/sessions/chat:1"))
        await eventually(lambda: _is_gone(ann, "chat:1"))
        deletions.append(deletion)
        return await take(self, *arguments)

    deletions: list[asyncio.Task[httpx.Response]] = []
    monkeypatch.setattr(Flush, "_take", late)
    assert (await ann.flush("chat:1"))["status"] == "no_extraction"
    assert (await deletions[0]).status_code == 204
    assert plugin.spaces(ann.user_id) == []


async def test_ruling_21_what_a_flush_has_answered_for_is_exported_as_memories(
    store: str, ann: Person, plugin: Switchboard
) -> None:
    """It answers when the plugin has them, which is before the messages are dropped."""
    await ann.add("chat:1", *turn("Talk of tea"))
    plugin.held = "POST /v1/memories/batch"
    flush = asyncio.create_task(ann.flush("chat:1"))
    await plugin.arrived.wait()
    connection = await asyncpg.connect(store)
    try:
        async with connection.transaction():
            await connection.fetch("SELECT FROM memory_gateway.batches FOR UPDATE")
            plugin.held = None
            await flush
            exporting = asyncio.create_task(export(ann))
            assert await ann.search("tea")
    finally:
        await connection.close()
    kinds = [line["type"] for line in await exporting]
    assert kinds == ["user", "session", "memory", "end"]


async def _is_gone(person: Person, session: str) -> bool:
    return all(line.get("session_id") != session for line in await export(person))


async def test_ruling_18_a_memory_deleted_while_it_is_flushed_stays_deleted(
    store: str, ann: Person, plugin: Switchboard
) -> None:
    await ann.say("chat:1", "Talk of coffee")
    await ann.add("chat:1", *turn("Talk of tea"))
    plugin.held = "POST /v1/memories/batch"
    flush = asyncio.create_task(ann.flush("chat:1"))
    await plugin.arrived.wait()
    connection = await asyncpg.connect(store)
    try:
        key = await connection.fetchval(
            "SELECT id FROM memory_gateway.memories WHERE text LIKE '%tea%' AND session IN"
            " (SELECT s.id FROM memory_gateway.sessions AS s JOIN memory_gateway.users AS u"
            " ON u.id = s.owner WHERE u.user_id = $1)",
            ann.user_id,
        )
    finally:
        await connection.close()
    deletion = asyncio.create_task(ann.delete(f"/memories/{key}"))
    await asyncio.sleep(0.1)
    plugin.held = None
    assert (await deletion).status_code == 204
    await flush
    assert await ann.search("tea") == []
    assert plugin.texts(ann.user_id) == ["User: Talk of coffee\nAssistant: Noted."]


async def test_ruling_18_a_repeated_add_brings_nothing_back(ann: Person) -> None:
    messages = turn("Talk of tea")
    await ann.add("chat:1", *messages)
    await ann.flush("chat:1")
    await ann.delete(f"/memories/{(await only(ann, 'tea'))['id']}")
    await ann.add("chat:1", *messages)
    await ann.flush("chat:1")
    assert await ann.search("tea") == []


async def test_ruling_18_a_remembered_flush_brings_nothing_back(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.add("chat:1", *turn("Talk of tea"))
    plugin.is_down = True
    checked(await ann.post(FLUSH, session_id="chat:1"), 503)
    assert (await ann.delete("/sessions/chat:1")).status_code == 202
    plugin.is_down = False
    await ann.say("chat:1", "Talk of coffee")
    assert await ann.texts("tea") == []
    assert len(await ann.search("coffee")) == 1

    async def is_told() -> bool:
        return any(it.startswith("DELETE /v1/namespaces") for it in plugin.requests)

    await eventually(is_told)
    assert plugin.texts(ann.user_id) == ["User: Talk of coffee\nAssistant: Noted."]


async def test_ruling_19_a_new_text_may_be_long(ann: Person) -> None:
    await ann.say("chat:1", "I drink tea")
    [memory] = await ann.search("tea")
    text = "I drink coffee. " * 10_000 + "And water."
    assert checked(await ann.patch(memory["id"], text), 200)["text"] == text
    assert await ann.texts("water") == [text]


async def test_ruling_19_an_edit_replaces_the_text_in_place(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.say("chat:1", "Talk of tea")
    before = await only(ann, "tea")
    edited = checked(await ann.patch(before["id"], "Talk of coffee"), 200)
    assert edited["text"] == "Talk of coffee"
    assert (edited["id"], edited["session_id"]) == (before["id"], before["session_id"])
    assert (edited["score"], edited["source_scope"]) == (None, None)
    assert edited["raw"]["edited_at"]
    assert edited["raw"]["created_at"] == before["raw"]["created_at"]
    after = await only(ann, "coffee")
    assert after["raw"] == edited["raw"]
    assert await ann.search("tea") == []
    assert plugin.texts(ann.user_id) == ["Talk of coffee"]


async def test_ruling_19_a_repeated_flush_does_not_undo_an_edit(
    store: str, ann: Person, plugin: Switchboard
) -> None:
    # As a gateway leaves it that dies between the plugin's answer and its own database.
    await ann.add("chat:1", *turn("Talk of tea"), *turn("POISON"))
    plugin.refuses = lambda body: "POISON" in body
    checked(await ann.post(FLUSH, session_id="chat:1"), 503)
    memory = await only(ann, "tea")
    connection = await asyncpg.connect(store)
    try:
        await connection.execute(
            "UPDATE memory_gateway.memories SET text = 'User: Talk of tea' WHERE id = $1",
            memory["id"],
        )
    finally:
        await connection.close()
    checked(await ann.patch(memory["id"], "Talk of coffee"), 200)
    plugin.refuses = lambda _: False
    await eventually(lambda: ann.search("POISON"))
    assert (await only(ann, "coffee"))["id"] == memory["id"]
    assert await ann.search("tea") == []


@pytest.mark.parametrize("text", ["", "  \n", None, 5, ["x"], "a\x00b"])
async def test_ruling_19_a_text_is_not_blank(ann: Person, text: Any) -> None:
    await ann.say("chat:1", "Talk of tea")
    answer = await ann.patch((await only(ann, "tea"))["id"], text)
    assert "text" in checked(answer, 400)["message"]


async def test_ruling_19_without_the_plugin_nothing_is_edited(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.say("chat:1", "Talk of tea")
    memory = await only(ann, "tea")
    plugin.is_down = True
    answer = await ann.patch(memory["id"], "Talk of coffee")
    checked(answer, 503)
    assert int(answer.headers["retry-after"]) >= 1
    plugin.is_down = False
    assert "edited_at" not in (await only(ann, "tea"))["raw"]


async def test_ruling_20_a_session_goes_with_its_buffer(ann: Person) -> None:
    await ann.say("chat:1", "Talk of tea")
    await ann.add("chat:1", *turn("Talk of coffee"))
    await ann.say("chat:2", "Talk of water")
    assert (await ann.delete("/sessions/chat:1")).status_code == 204
    assert (await ann.flush("chat:1"))["status"] == "no_extraction"
    assert await ann.texts("talk") == ["User: Talk of water\nAssistant: Noted."]


@pytest.mark.parametrize("name", ["with/slash", "ü ñ", "a:b", "100%", "?&#", "chat:x/../y"])
async def test_ruling_20_any_name_of_a_session_can_be_deleted(ann: Person, name: str) -> None:
    await ann.add(name, message("hello"))
    assert (await ann.delete(f"/sessions/{quote(name, safe='')}")).status_code == 204
    checked(await ann.delete(f"/sessions/{quote(name, safe='')}"), 404)


async def eventually_blocks(connection: asyncpg.Connection) -> None:
    """Until another connection waits for this one's transaction."""
    waiting = (
        "SELECT count(*) FROM pg_locks"
        " WHERE NOT granted AND transactionid = pg_current_xact_id_if_assigned()::xid"
    )
    await eventually(lambda: connection.fetchval(waiting), "nothing waits for the transaction")


async def test_ruling_20_a_user_that_another_worker_removes_meanwhile_is_gone(
    quiet_store: str,
) -> None:
    settings = {"search_path": "memory_gateway"}
    other = await asyncpg.connect(quiet_store, server_settings=settings)
    patient = Settings(database_url=quiet_store, **timeouts.LIMITS)
    database = Database(patient, name="test", search_path=SCHEMA.name)
    nothing: Any = None  # there are no sessions, so only the database is asked
    deletion = Deletion(database, nothing, nothing, nothing)
    try:
        user = await other.fetchval(
            "INSERT INTO users (user_id, key_sha256, deleted_at) VALUES ('gone', '', now())"
            " RETURNING id"
        )
        async with other.transaction():
            assert await other.fetchval(load("remove_user"), user)
            emptied = asyncio.create_task(deletion.empty_user(user))
            await eventually_blocks(other)
        assert await emptied
    finally:
        await database.close()
        await other.close()


async def test_ruling_20_a_user_goes_with_everything(
    ann: Person, bob: Person, store: str, plugin: Switchboard
) -> None:
    for app in ("default", "other"):
        await ann.say("chat:1", "Talk of tea", app_id=app)
        await ann.add("chat:2", *turn("Talk of coffee"), app_id=app)
        await ann.upload("Some paper.", app_id=app)
    await bob.say("chat:1", "Talk of water")
    assert (await ann.delete(f"/users/{ann.user_id}")).status_code == 204
    checked(await ann.post("/memories/search", query="tea"), 401)
    assert plugin.spaces(ann.user_id) == []
    connection = await asyncpg.connect(store)
    try:
        rows = await connection.fetchval(
            "SELECT count(*) FROM memory_gateway.users WHERE user_id = $1", ann.user_id
        )
        left = await connection.fetchval(
            "SELECT count(*) FROM memory_gateway.sessions AS s"
            " WHERE NOT EXISTS (SELECT FROM memory_gateway.users AS u WHERE u.id = s.owner)"
        )
    finally:
        await connection.close()
    assert (rows, left) == (0, 0)
    assert len(await bob.search("water")) == 1
    # The same name again is somebody new.
    made = checked(await ann.http.post("/users", json={"user_id": ann.user_id}), 201)
    again = Person(ann.http, ann.user_id, made["user_key"])
    assert await again.search("tea coffee paper") == []
    assert (await again.say("chat:1", "Talk of milk"))["message_count"] == 2


async def test_ruling_20_a_name_is_taken_while_its_deletion_is_under_way(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.say("chat:1", "Talk of tea")
    plugin.is_down = True
    checked(await ann.delete(f"/users/{ann.user_id}"), 202)
    checked(await ann.http.post("/users", json={"user_id": ann.user_id}), 409)
    plugin.is_down = False

    async def is_free() -> bool:
        answer = await ann.http.post("/users", json={"user_id": ann.user_id})
        return answer.status_code == 201

    await eventually(is_free)
    assert plugin.spaces(ann.user_id) == []


async def export(person: Person) -> list[dict[str, Any]]:
    answer = await person.get(f"/users/{person.user_id}/export")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_ruling_21_an_export_has_everything_and_an_end(ann: Person) -> None:
    await ann.say("chat:1", "Talk of tea", "Talk of coffee")
    await ann.add("chat:1", message("Not yet flushed", timestamp=1_700_000_000_000))
    await ann.say("s", "In another app", app_id="other", project_id="p")
    resource = await ann.upload("Some paper.", title="Paper")
    await ann.patch((await only(ann, "tea"))["id"], "Talk of water")
    lines = await export(ann)
    assert lines == await export(ann)
    by_type = {kind: [it for it in lines if it["type"] == kind] for kind in set(map(_type, lines))}
    assert _type(lines[0]) == "user"
    assert by_type["user"][0]["user_id"] == ann.user_id
    assert [it["session_id"] for it in by_type["session"]] == [
        "chat:1",
        "s",
        resource["session_id"],
    ]
    [waiting] = by_type["message"]
    assert (waiting["content"], waiting["timestamp"]) == ("Not yet flushed", 1_700_000_000_000)
    memories = by_type["memory"]
    assert {
        "id",
        "app_id",
        "project_id",
        "session_id",
        "text",
        "created_at",
        "resource_uri",
        "raw",
    } <= set(memories[0])
    texts = {it["text"] for it in memories if it["raw"]["type"] != "fact"}
    assert texts == {
        "Talk of water",
        "User: Talk of coffee\nAssistant: Noted.",
        "User: In another app\nAssistant: Noted.",
        "Some paper.",
    }
    assert {it["app_id"] for it in memories} == {"default", "other"}
    [kept] = by_type["resource"]
    assert kept["resource_id"] == resource["resource_id"]
    assert lines[-1] == {
        "type": "end",
        "counts": {
            "user": 1,
            "session": 3,
            "message": 1,
            "memory": len(memories),
            "resource": 1,
        },
        "complete": True,
    }


def _type(line: dict[str, Any]) -> str:
    return str(line["type"])


async def test_ruling_21_a_flush_that_is_remembered_is_still_exported(
    ann: Person, plugin: Switchboard
) -> None:
    plugin.refuses = lambda body: "POISON" in body
    await ann.add("chat:1", message("POISON"))
    checked(await ann.post(FLUSH, session_id="chat:1"), 503)
    lines = await export(ann)
    assert [it["content"] for it in lines if _type(it) == "message"] == ["POISON"]


@pytest.mark.parametrize(
    ("extensions", "complete"), [((), False), (("get",), True), (("list",), True)]
)
async def test_ruling_21_an_export_says_when_the_plugin_cannot_list_more(
    store: str, extensions: tuple[Extension, ...], complete: bool
) -> None:
    board = switchboard(extensions=extensions)
    async with people.gateway(store, board.client()) as gateway:
        ann = await gateway.person()
        messages = [it for number in range(120) for it in turn(f"tea {number}")]
        await ann.add("chat:1", *messages)
        await ann.flush("chat:1")
        lines = await export(ann)
    assert lines[-1]["complete"] is complete
    assert ("reason" in lines[-1]) is not complete
    assert lines[-1]["counts"]["memory"] == (120 if complete else 100)


@pytest.mark.parametrize("extensions", [(), ("get",), ("list",)])
async def test_ruling_21_an_export_counts_what_the_plugin_has_lost(
    store: str, extensions: tuple[Extension, ...]
) -> None:
    board = switchboard(extensions=extensions)
    async with people.gateway(store, board.client()) as gateway:
        ann = await gateway.person()
        await ann.say("chat:1", "tea 1", "tea 2", "tea 3")
        await ann.say("chat:2", "tea 4")
        # As if its database had been restored from a backup.
        [first, second] = board.spaces(ann.user_id)
        del board.plugin.store.spaces[second.name]
        for key in list(first.rows)[:2]:
            del first.rows[key]
            del board.plugin.store.home[key]
        end = (await export(ann))[-1]
    assert (end["complete"], end["missing"], end["counts"]["memory"]) == (False, 3, 1)
    assert "3 memories" in end["reason"]


async def test_ruling_21_what_is_deleted_during_an_export_is_not_missing(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.say("chat:1", "Talk of tea", "Talk of coffee")
    await ann.say("chat:2", "Talk of water")
    memory = await only(ann, "tea")
    plugin.held = "POST /v1/memories/list"
    exporting = asyncio.create_task(export(ann))
    await plugin.arrived.wait()
    assert (await ann.delete(f"/memories/{memory['id']}")).status_code == 204
    assert (await ann.delete("/sessions/chat:2")).status_code == 204
    plugin.held = None
    end = (await exporting)[-1]
    assert (end["complete"], end["counts"]["memory"]) == (True, 1)


async def test_ruling_21_a_pending_resource_is_exported_with_its_text(
    ann: Person, plugin: Switchboard
) -> None:
    plugin.refuses = lambda body: "POISON" in body
    await ann.upload("This is POISON.", 202)
    lines = await export(ann)
    assert [it["text"] for it in lines if _type(it) == "memory"] == ["This is POISON."]
    assert lines[-1]["complete"] is True


async def test_ruling_21_without_the_plugin_there_is_no_half_export(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.say("chat:1", "Talk of tea")
    plugin.is_down = True
    checked(await ann.get(f"/users/{ann.user_id}/export"), 503)
