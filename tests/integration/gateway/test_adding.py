"""Rulings 11 to 16: adding and flushing."""

import asyncio
import json
from typing import Any

import asyncpg
import pytest

from gateway.credentials import Credentials
from gateway.names import SessionName
from gateway.users import User, Users
from tests.integration.gateway import people
from tests.integration.gateway.people import Gateway, Person, checked, message, turn
from tests.integration.gateway.plugin import Switchboard
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

ADD, FLUSH = "/memories/add", "/memories/flush"


async def test_ruling_11_add_does_not_need_the_plugin(ann: Person, plugin: Switchboard) -> None:
    plugin.is_down = True
    assert await ann.add("chat:1", *turn("Talk of tea")) == {
        "status": "accumulated",
        "session_id": "chat:1",
        "message_count": 2,
        "duplicate_count": 0,
    }
    plugin.is_down = False
    assert await ann.flush("chat:1") == {
        "status": "extracted",
        "session_id": "chat:1",
        "message_count": 2,
        "memory_count": 1,
    }


async def test_ruling_11_what_was_added_survives_the_gateway(
    store: str, plugin: Switchboard, ann: Person
) -> None:
    await ann.add("chat:1", *turn("The ship is called Anna"))
    async with people.gateway(store, plugin.client()) as other:
        there = Person(other.http, ann.user_id, ann.key)
        assert (await there.flush("chat:1"))["message_count"] == 2
        assert len(await there.search("ship")) == 1


async def test_ruling_12_a_repeated_message_is_stored_once_ever(ann: Person) -> None:
    messages = turn("Talk of tea")
    assert (await ann.add("chat:1", *messages))["duplicate_count"] == 0
    assert (await ann.add("chat:1", *messages, message("More")))["duplicate_count"] == 2
    await ann.flush("chat:1")
    assert (await ann.add("chat:1", *messages))["duplicate_count"] == 2
    assert (await ann.flush("chat:1"))["status"] == "no_extraction"
    [memory] = await ann.search("tea")
    await ann.patch(memory["id"], "Talk of coffee")
    assert (await ann.add("chat:1", *messages))["duplicate_count"] == 2
    await ann.delete(f"/memories/{memory['id']}")
    assert (await ann.add("chat:1", *messages))["duplicate_count"] == 2
    assert (await ann.flush("chat:1"))["status"] == "no_extraction"
    assert await ann.search("tea coffee") == []


async def test_ruling_12_the_nth_occurrence_is_a_message_of_its_own(ann: Person) -> None:
    same = message("ping")
    assert (await ann.add("chat:1", same, same, same))["duplicate_count"] == 0
    assert (await ann.add("chat:1", same, same))["duplicate_count"] == 2
    assert (await ann.add("chat:1", same, same, same, same))["duplicate_count"] == 3
    await ann.flush("chat:1")
    [text] = await ann.texts("ping")
    assert text.count("ping") == 4


@pytest.mark.parametrize(
    "change",
    [{"role": "assistant"}, {"sender_id": "x"}, {"timestamp": 5}, {"content": "other"}],
)
async def test_ruling_12_a_message_that_differs_is_another(
    ann: Person, change: dict[str, Any]
) -> None:
    first = message("Talk of tea")
    await ann.add("chat:1", first)
    assert (await ann.add("chat:1", first | change))["duplicate_count"] == 0
    assert (await ann.add("chat:2", first))["duplicate_count"] == 0
    assert (await ann.add("chat:1", first, app_id="other"))["duplicate_count"] == 0


async def test_ruling_12_text_items_are_the_text(ann: Person) -> None:
    first = message("one\ntwo")
    await ann.add("chat:1", first)
    items = [
        {"type": "text", "text": "one"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "text", "text": "two"},
    ]
    assert (await ann.add("chat:1", first | {"content": items}))["duplicate_count"] == 1


@pytest.mark.parametrize("written", ["1780000000000.0", "1.78e12", "1780000000000E0"])
async def test_ruling_12_a_timestamp_is_the_same_however_json_writes_it(
    ann: Person, written: str
) -> None:
    first = message("Talk of tea", timestamp=1_780_000_000_000)
    await ann.add("chat:1", first)
    body = json.dumps({**ann.credentials, "session_id": "chat:1", "messages": [first]})
    answer = await ann.http.post(ADD, content=body.replace("1780000000000", written))
    assert checked(answer, 200)["duplicate_count"] == 1


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1"])
async def test_ruling_26_a_body_in_another_encoding_is_refused_and_nothing_is_stored(
    ann: Person, encoding: str
) -> None:
    fields = {"session_id": "chat:1", "messages": [message("Tee für Jörg")]}
    body = json.dumps({**ann.credentials, **fields}, ensure_ascii=False)
    answer = await ann.http.post(ADD, content=body.encode(encoding))
    assert checked(answer, 400)["message"].startswith("body: ")
    assert (await ann.flush("chat:1"))["message_count"] == 0


@pytest.mark.parametrize(
    "unknown", ["1e999", "[[[]]]", r'"\ud800"', r'"\u0000"', '{"a": 1, "a": 2}']
)
async def test_ruling_26_unknown_fields_of_a_message_are_ignored_whatever_they_hold(
    ann: Person, unknown: str
) -> None:
    fields = {"session_id": "chat:1", "messages": [message("hi", more="MORE")], "also": "MORE"}
    body = json.dumps({**ann.credentials, **fields}).replace('"MORE"', unknown)
    checked(await ann.http.post(ADD, content=body), 200)
    assert (await ann.flush("chat:1"))["message_count"] == 1


async def test_ruling_26_a_bad_message_keeps_the_good_ones_from_being_stored(ann: Person) -> None:
    answer = await ann.post(
        ADD, session_id="chat:1", messages=[message("hi"), message("a\x00b"), message("ho")]
    )
    assert checked(answer, 400)["message"].startswith("messages.1.content")
    assert (await ann.flush("chat:1"))["message_count"] == 0


async def test_ruling_12_deleting_the_session_forgets_its_messages(ann: Person) -> None:
    messages = turn("Talk of tea")
    await ann.add("chat:1", *messages)
    await ann.delete("/sessions/chat:1")
    assert (await ann.add("chat:1", *messages))["duplicate_count"] == 0
    assert (await ann.flush("chat:1"))["memory_count"] >= 1


async def test_ruling_12_repeats_at_the_same_time_are_stored_once(ann: Person) -> None:
    messages = [message(f"tea {number}") for number in range(10)]
    answers = await asyncio.gather(*(ann.add("chat:1", *messages) for _ in range(20)))
    assert sum(it["duplicate_count"] for it in answers) == 10 * 19
    assert (await ann.flush("chat:1"))["message_count"] == 10


async def test_ruling_12_the_same_request_under_a_key_gets_the_same_answer(ann: Person) -> None:
    key = {"Idempotency-Key": "run 1"}
    fields = {"session_id": "chat:1", "messages": turn("Talk of tea")}
    answers = [await ann.post(ADD, key, **fields) for _ in range(3)]
    answers += await asyncio.gather(*(ann.post(ADD, key, **fields) for _ in range(5)))
    assert {it.content for it in answers} == {answers[0].content}
    assert checked(answers[0], 200)["duplicate_count"] == 0
    # Without the key it is known.
    assert checked(await ann.post(ADD, **fields), 200)["duplicate_count"] == 2


async def test_ruling_12_another_request_under_a_key_is_a_conflict(
    ann: Person, bob: Person
) -> None:
    key = {"Idempotency-Key": "run 1"}
    messages = turn("Talk of tea")
    checked(await ann.post(ADD, key, session_id="chat:1", messages=messages), 200)
    for other in (
        {"session_id": "chat:2", "messages": messages},
        {"session_id": "chat:1", "messages": messages[:1]},
        {"session_id": "chat:1", "messages": messages, "app_id": "other"},
    ):
        checked(await ann.post(ADD, key, **other), 409)
    checked(await bob.post(ADD, key, session_id="chat:9", messages=turn("hi")), 200)
    assert (await ann.flush("chat:2"))["status"] == "no_extraction"


async def test_ruling_12_under_a_key_a_user_who_is_deleted_meanwhile_is_unauthorized(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    authenticate = Users.authenticate

    async def and_delete(self: Users, given: Credentials) -> User:
        user = await authenticate(self, given)
        monkeypatch.undo()
        assert (await ann.delete(f"/users/{ann.user_id}")).status_code == 204
        return user

    monkeypatch.setattr(Users, "authenticate", and_delete)
    fields = {"session_id": "chat:1", "messages": turn("Talk of tea")}
    checked(await ann.post(ADD, {"Idempotency-Key": "run 1"}, **fields), 401)


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there", "é"])
async def test_ruling_12_a_key_is_printable_ascii(ann: Person, key: str) -> None:
    headers = {"Idempotency-Key": key.encode("latin-1")}
    answer = await ann.post(ADD, headers, session_id="chat:1", messages=turn("hi"))
    assert "Idempotency-Key" in checked(answer, 400)["message"]


async def test_ruling_13_what_a_flush_takes_is_fixed_before_the_first_write(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.add("chat:1", *turn("tea one"))
    plugin.held = "PUT /v1/namespaces"
    flush = asyncio.create_task(ann.flush("chat:1"))
    await plugin.arrived.wait()
    await ann.add("chat:1", *turn("tea two"))
    plugin.held = None
    assert (await flush)["message_count"] == 2
    assert len(await ann.search("tea")) == 1
    assert (await ann.flush("chat:1"))["message_count"] == 2
    assert len(await ann.search("tea")) == 2


async def test_ruling_13_a_lost_answer_of_the_plugin_duplicates_nothing(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.add("chat:1", *turn("tea one"), *turn("tea two"))
    plugin.loses_answers = True
    for _ in range(3):
        checked(await ann.post(FLUSH, session_id="chat:1"), 503)
    plugin.loses_answers = False
    await eventually(lambda: _is_flushed(ann, "chat:1"))
    assert len(plugin.texts(ann.user_id)) == 2
    assert len(await ann.search("tea")) == 2


async def _is_flushed(person: Person, session: str) -> bool:
    answer = await person.post(FLUSH, session_id=session)
    return answer.status_code == 200


async def test_ruling_13_ids_come_from_user_session_batch_and_place(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.say("chat:1", "tea one", "tea two")
    found = await ann.search("tea")
    assert {it["id"][14] for it in found} == {"5"}  # the version of the UUID
    name = SessionName("a", "b", "c", "d")
    other = SessionName("a", "b", "cd", "")
    batch = next(iter(plugin.plugin.store.home))
    ids = [it.memory_id(batch, place) for it in (name, other) for place in (0, 1)]
    assert len(set(ids)) == 4
    assert ids[0] == SessionName("a", "b", "c", "d").memory_id(batch, 0)


async def test_ruling_14_of_concurrent_flushes_one_extracts_and_all_wait(
    store: str, plugin: Switchboard, ann: Person
) -> None:
    await ann.add("chat:1", *turn("Talk of tea"))
    async with people.gateway(store, plugin.client()) as other:
        there = Person(other.http, ann.user_id, ann.key)
        plugin.held = "POST /v1/memories/batch"
        flushes = [asyncio.create_task(person.flush("chat:1")) for person in (ann, there) * 10]
        await plugin.arrived.wait()
        await asyncio.sleep(0.2)
        assert not any(it.done() for it in flushes)
        plugin.held = None
        answers = await asyncio.gather(*flushes)
    assert sorted(it["status"] for it in answers) == ["extracted"] + ["no_extraction"] * 19
    assert sum(it["message_count"] for it in answers) == 2
    assert len(plugin.texts(ann.user_id)) == 1


async def test_ruling_14_an_unknown_session_has_nothing_to_extract(ann: Person) -> None:
    assert await ann.flush("never") == {
        "status": "no_extraction",
        "session_id": "never",
        "message_count": 0,
        "memory_count": 0,
    }


async def test_ruling_14_what_others_added_is_searchable_too(
    store: str, plugin: Switchboard, ann: Person
) -> None:
    async with people.gateway(store, plugin.client()) as other:
        there = Person(other.http, ann.user_id, ann.key)
        for number in range(5):
            await ann.add("chat:1", *turn(f"tea {number}"))
            await there.add("chat:1", *turn(f"coffee {number}"))
        await there.flush("chat:1")
        assert len(await ann.search("tea", top_k=50)) == 5
        assert len(await ann.search("coffee", top_k=50)) == 5


async def test_ruling_15_a_flush_that_the_plugin_refuses_is_remembered(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.add("chat:1", *turn("Talk of tea"))
    plugin.is_down = True
    answer = await ann.post(FLUSH, session_id="chat:1")
    checked(answer, 503)
    assert int(answer.headers["retry-after"]) >= 1
    plugin.is_down = False
    # Nobody asks again.
    await eventually(lambda: ann.search("tea"))
    assert (await ann.flush("chat:1"))["status"] == "no_extraction"
    assert len(plugin.texts(ann.user_id)) == 1


async def test_ruling_15_a_plugin_that_was_down_for_long_is_retried_within_10_seconds(
    store: str, ann: Person, plugin: Switchboard
) -> None:
    await ann.add("chat:1", *turn("Talk of tea"))
    plugin.is_down = True
    checked(await ann.post(FLUSH, session_id="chat:1"), 503)
    connection = await asyncpg.connect(store, server_settings={"search_path": "memory_gateway"})
    mine = "SELECT sessions.id FROM sessions JOIN users ON users.id = owner WHERE user_id = $1"
    try:
        # As many tries as there are in a month.
        await connection.execute(
            f"UPDATE batches SET attempts = 1000000 WHERE session IN ({mine})", ann.user_id
        )
        checked(await ann.post(FLUSH, session_id="chat:1"), 503)
        is_soon = await connection.fetchval(
            "SELECT bool_and(try_at < now() + interval '8 seconds') FROM batches"
            f" WHERE session IN ({mine})",
            ann.user_id,
        )
        assert is_soon
    finally:
        await connection.close()
    plugin.is_down = False
    await eventually(lambda: ann.search("tea"))


async def test_ruling_15_the_buffer_stays(ann: Person, plugin: Switchboard) -> None:
    await ann.add("chat:1", *turn("Talk of tea"))
    plugin.held = "PUT"
    flush = asyncio.create_task(ann.post(FLUSH, session_id="chat:1"))
    await plugin.arrived.wait()
    plugin.held = None
    plugin.refuses = lambda body: "custom" in body
    assert (await flush).status_code in (200, 503)
    plugin.refuses = lambda _: False
    await eventually(lambda: ann.search("tea"))


async def test_ruling_15_poisoned_content_does_not_hold_up_other_users(
    ann: Person, bob: Person, plugin: Switchboard
) -> None:
    plugin.refuses = lambda body: "POISON" in body
    await ann.add("chat:1", *turn("POISON"), *turn("Talk of tea"))
    checked(await ann.post(FLUSH, session_id="chat:1"), 503)
    assert [it["text"] for it in await ann.search("tea")] == [
        "User: Talk of tea\nAssistant: Noted."
    ]
    await ann.say("chat:2", "Talk of coffee")
    await bob.say("chat:1", "Talk of water")
    assert len(await ann.search("coffee")) == 1
    assert len(await bob.search("water")) == 1
    await ann.add("chat:1", *turn("Talk of milk"))
    checked(await ann.post(FLUSH, session_id="chat:1"), 503)
    assert len(await ann.search("milk")) == 1
    plugin.refuses = lambda _: False
    await eventually(lambda: ann.search("POISON"))
    assert len(plugin.texts(ann.user_id)) == 4


async def test_ruling_15_buffers_that_nobody_flushes_are_flushed(
    store: str, plugin: Switchboard
) -> None:
    async with people.gateway(store, plugin.client(), idle_flush=0.5) as gateway:
        ann = await gateway.person()
        await ann.add("chat:1", *turn("Talk of tea"))
        await eventually(lambda: ann.search("tea"))
        assert (await ann.flush("chat:1"))["status"] == "no_extraction"


@pytest.mark.parametrize("is_flushed", [True, False], ids=["by somebody", "by nobody"])
async def test_ruling_15_a_buffer_of_known_messages_does_not_wait_for_a_flush(
    quiet_store: str, plugin: Switchboard, *, is_flushed: bool
) -> None:
    idle_flush = 0 if is_flushed else 0.5
    connection = await asyncpg.connect(quiet_store)
    try:
        async with people.gateway(quiet_store, plugin.client(), idle_flush=idle_flush) as gateway:
            ann = await gateway.person()
            messages = turn("Talk of tea")
            await ann.add("chat:1", *messages)
            await ann.flush("chat:1")
            assert (await ann.add("chat:1", *messages))["duplicate_count"] == 2
            if is_flushed:
                assert (await ann.flush("chat:1"))["status"] == "no_extraction"
            # Otherwise, it would be looked at again and again, and take the place of others.
            waits = "SELECT NOT is_buffering FROM memory_gateway.sessions"
            await eventually(lambda: connection.fetchval(waits))
            await ann.add("chat:1", *turn("Talk of milk"))
            assert not await connection.fetchval(waits)
    finally:
        await connection.close()


async def test_ruling_15_zero_is_never(store: str, plugin: Switchboard) -> None:
    async with people.gateway(store, plugin.client(), idle_flush=0.0) as gateway:
        ann = await gateway.person()
        await ann.add("chat:1", *turn("Talk of tea"))
        await asyncio.sleep(0.5)
        assert await ann.search("tea") == []


async def test_ruling_16_turns_become_memories(ann: Person) -> None:
    await ann.add(
        "chat:1",
        message("Which tea is there?"),
        message("   "),
        message("And how much?"),
        message("ls -l tea", "tool"),
        message("Green tea.", "assistant"),
        message("Two bags of tea.", "assistant"),
        message("Thanks for the tea"),
    )
    answer = await ann.flush("chat:1")
    assert answer["message_count"] == 7
    found = await ann.search("tea", top_k=50)
    texts = [it["text"] for it in found if it["raw"]["type"] == "turn"]
    assert sorted(texts) == [
        "User: Thanks for the tea",
        "\n".join(
            (
                "User: Which tea is there?",
                "User: And how much?",
                "Assistant: Green tea.",
                "Assistant: Two bags of tea.",
            )
        ),
    ]


async def test_ruling_16_tool_and_blank_messages_make_no_memory(ann: Person) -> None:
    await ann.add("chat:1", message("output", "tool"), message(" \n "), message([], "assistant"))
    answer = await ann.flush("chat:1")
    assert (answer["status"], answer["message_count"]) == ("no_extraction", 3)
    assert (answer["memory_count"], await ann.search("output")) == (0, [])


async def test_ruling_16_the_time_of_a_turn_is_that_of_its_first_message(ann: Person) -> None:
    await ann.add(
        "chat:1",
        message("Talk of tea", timestamp=1_700_000_000_123),
        message("Good.", "assistant", timestamp=1_700_000_009_000),
    )
    await ann.flush("chat:1")
    turns = [it for it in await ann.search("tea") if it["raw"]["type"] == "turn"]
    assert [it["raw"]["created_at"] for it in turns] == ["2023-11-14T22:13:20.123000Z"]


async def test_ruling_16_long_turns_are_split(ann: Person) -> None:
    long = " ".join(f"Sentence number {number} is about tea." for number in range(200))
    await ann.add("chat:1", message(long), message("No.", "assistant"))
    await ann.flush("chat:1")
    found = [it for it in await ann.search("tea", top_k=50) if it["raw"]["type"] == "turn"]
    parts = sorted(found, key=lambda it: it["raw"]["part"])
    assert all(len(it["text"]) <= 2000 for it in parts)
    assert [it["raw"]["part"] for it in parts] == list(range(1, len(parts) + 1))
    assert {it["raw"]["parts"] for it in parts} == {len(parts)}
    assert " ".join(it["text"] for it in parts).split() == f"User: {long} Assistant: No.".split()
    assert all(it["text"].endswith(".") for it in parts)


async def test_flush_after_flush_takes_only_what_is_new(gateway: Gateway, ann: Person) -> None:
    assert gateway
    for number in range(4):
        answer = await ann.say("chat:1", f"tea {number}")
        assert (answer["message_count"], answer["memory_count"]) == (2, 1)
    assert len(await ann.search("tea")) == 4
