"""Rulings 6 to 10: searching."""

import asyncio
from typing import Any

import pytest

from contract import CAPABILITIES, Capability, Extension
from gateway.plugin import Found, Plugin
from tests.integration.gateway import people
from tests.integration.gateway.people import Gateway, Person, checked, message, turn
from tests.integration.gateway.plugin import Switchboard, switchboard

pytestmark = pytest.mark.anyio

RESULT = {"id", "session_id", "text", "score", "source_scope", "resource_uri", "raw"}


async def sources(person: Person, *scope: str, **fields: Any) -> list[tuple[str, str]]:
    found = await person.search("tea", scope=list(scope), **fields)
    return sorted((it["session_id"].partition(":")[0], it["source_scope"]) for it in found)


async def test_ruling_6_each_scope_has_its_part(ann: Person) -> None:
    await ann.say("chat:1", "Green tea is what I drink")
    await ann.say("chat:2", "Black tea is what I drink")
    await ann.say("other", "White tea is what I drink")
    await ann.upload("Mint tea comes in bags.")
    assert await sources(ann, "current_chat", conversation_id="1") == [("chat", "current_chat")]
    assert await sources(ann, "current_chat") == []
    assert await sources(ann, "current_chat", conversation_id="3") == []
    assert await sources(ann, "resources") == [("resource", "resources")]
    assert await sources(ann, "all_user_memory") == [
        ("chat", "all_user_memory"),
        ("chat", "all_user_memory"),
        ("other", "all_user_memory"),
        ("resource", "all_user_memory"),
    ]
    by_default = await ann.post("/memories/search", query="tea", conversation_id="2")
    assert sorted(it["source_scope"] for it in checked(by_default, 200)["results"]) == [
        "current_chat",
        "resources",
    ]


async def test_ruling_6_nothing_crosses_apps_and_projects(ann: Person) -> None:
    for app, project in (("a", "p"), ("a", "q"), ("b", "p")):
        await ann.say("chat:1", f"Tea of {app} {project}", app_id=app, project_id=project)
        await ann.upload(f"Tea from the {app} {project} shop.", app_id=app, project_id=project)
    found = await ann.texts("tea", app_id="a", project_id="p")
    assert sorted(found) == ["Tea from the a p shop.", "User: Tea of a p\nAssistant: Noted."]
    assert await ann.texts("tea") == []


async def test_ruling_6_a_result_has_always_all_fields(ann: Person) -> None:
    await ann.say("chat:1", "I drink green tea")
    resource = await ann.upload("Tea comes in bags.", title="All about tea")
    found = {it["session_id"]: it for it in await ann.search("tea")}
    chat, chunk = found["chat:1"], found[resource["session_id"]]
    assert set(chat) == set(chunk) == RESULT
    assert chat["resource_uri"] is None
    assert chat["raw"]["type"] == "turn"
    assert chat["raw"]["sender_ids"] == ["ann", "bot"]
    assert chunk["resource_uri"] == resource["uri"]
    assert chunk["raw"] == {
        "type": "chunk",
        "created_at": resource["created_at"],
        "title": "All about tea",
    }
    assert isinstance(chat["score"], float)


async def test_ruling_7_top_k_is_the_size_of_the_merged_answer(ann: Person) -> None:
    for number in range(20):
        await ann.add("chat:1", *turn(f"tea number {number}"))
    await ann.flush("chat:1")
    for number in range(4):
        await ann.upload(f"tea paper {number}")
    for top_k in (1, 5, 24, 100):
        found = await ann.search(
            "tea", conversation_id="1", scope=["current_chat", "resources"], top_k=top_k
        )
        assert len(found) == min(top_k, 24)
        assert [it["score"] for it in found] == sorted((it["score"] for it in found), reverse=True)
    assert len(await ann.search("tea")) == 8


async def test_ruling_7_ties_are_newest_first(ann: Person) -> None:
    for name in ("one", "two", "three"):
        await ann.add("chat:1", message(f"tea {name}"))
        await ann.flush("chat:1")
    found = await ann.search("tea")
    assert len({it["score"] for it in found}) == 1
    assert [it["text"] for it in found] == ["User: tea three", "User: tea two", "User: tea one"]


async def test_ruling_7_a_memory_has_the_narrowest_of_its_scopes(ann: Person) -> None:
    await ann.say("chat:1", "tea one")
    await ann.say("chat:2", "tea two")
    await ann.upload("tea three")
    every = ("all_user_memory", "resources", "current_chat")
    assert await sources(ann, *every, conversation_id="1") == [
        ("chat", "all_user_memory"),
        ("chat", "current_chat"),
        ("resource", "resources"),
    ]


async def test_ruling_7_no_two_results_have_the_same_text(ann: Person) -> None:
    for number in range(30):
        await ann.say(f"chat:{number}", "tea again and again")
    for number in range(10):
        await ann.say("chat:0", f"tea again {number}")
    texts = await ann.texts("tea again", top_k=8)
    assert len(texts) == len(set(texts)) == 8


async def test_ruling_7_of_equal_texts_the_one_in_the_narrowest_scope_is_shown(
    ann: Person,
) -> None:
    await ann.upload("User: tea again")
    for session in ("chat:1", "chat:2"):
        await ann.add(session, message("tea again"))
        await ann.flush(session)
    every = ["all_user_memory", "resources", "current_chat"]
    for scope, chat, source in (
        (every, "1", "current_chat"),
        (every, None, "resources"),
        (["all_user_memory"], "1", "all_user_memory"),
    ):
        [found] = await ann.search("tea again", scope=scope, conversation_id=chat)
        assert found["source_scope"] == source


async def test_ruling_7_what_is_deleted_takes_no_place(ann: Person, plugin: Switchboard) -> None:
    for number in range(20):
        await ann.say("chat:1", f"tea {number}")
    found = await ann.search("tea", top_k=12)
    plugin.is_down = True
    for it in found:
        assert (await ann.delete(f"/memories/{it['id']}")).status_code == 202
    plugin.is_down = False
    left = await ann.search("tea", top_k=8)
    assert len(left) == 8
    assert not {it["id"] for it in left} & {it["id"] for it in found}


async def test_ruling_8_the_next_search_sees_what_was_answered(ann: Person) -> None:
    for number in range(4):
        await ann.say("chat:1", f"I own the ship numbered x{number}x")
        [memory] = await ann.search(f"x{number}x")
        assert checked(await ann.patch(memory["id"], f"I sold y{number}y"), 200)
        assert [it["id"] for it in await ann.search(f"y{number}y")] == [memory["id"]]
        assert (await ann.delete(f"/memories/{memory['id']}")).status_code == 204
        assert await ann.search(f"y{number}y") == []
        resource = await ann.upload(f"Manual of the ship z{number}z.")
        assert len(await ann.search(f"z{number}z")) == 1
        assert (await ann.delete(f"/resources/{resource['resource_id']}")).status_code == 204
        assert await ann.search(f"z{number}z") == []


@pytest.mark.parametrize(
    "query",
    [
        "tea " * 500_000,
        "x" * 1_000_000,
        "the of and",
        "a",
        "?!…—",
        "茶",
        "чай",
        "' OR 1=1 -- %_\\",
        "🍵",
        "tea & | ! ( ) : * <->",
    ],
)
async def test_ruling_9_every_query_is_answered(ann: Person, query: str) -> None:
    await ann.say("chat:1", "I drink tea 茶 чай 🍵")
    found = await ann.search(query)
    if query.split()[0] in ("tea", "茶", "чай", "🍵"):
        assert len(found) == 1


async def test_ruling_9_every_session_is_searched(store: str) -> None:
    board = switchboard()
    # It takes a few namespaces at a time, and does not say how many.
    board.refuses = lambda body: body.count("custom:gw:") > 7 and '"query"' in body
    async with people.gateway(store, board.client()) as gateway:
        ann = await gateway.person()
        for number in range(60):
            await ann.say(f"chat:{number}", f"tea number{number}")
        assert len(await ann.search("tea", top_k=100)) == 60
        for number in (0, 31, 59):
            assert len(await ann.search(f"number{number}")) == 1


async def test_a_query_that_the_plugin_refuses_does_not_slow_down_others(
    ann: Person, plugin: Switchboard
) -> None:
    for number in range(4):
        await ann.say(f"chat:{number}", f"tea number{number}")
    plugin.refuses = lambda body: "poison" in body
    asked = {"query": "poison", "scope": ["all_user_memory"]}
    checked(await ann.post("/memories/search", **asked), 503)
    plugin.requests.clear()
    assert len(await ann.search("tea")) == 4
    # It was not the number of namespaces.
    assert plugin.requests.count("POST /v1/search") == 1


@pytest.mark.parametrize("capabilities", [(), ("fts",), CAPABILITIES])
@pytest.mark.parametrize("extensions", [(), ("batch",), ("list",)])
async def test_a_minimal_plugin_serves_the_whole_api(
    store: str, capabilities: tuple[Capability, ...], extensions: Any
) -> None:
    board = switchboard(capabilities, extensions)
    async with people.gateway(store, board.client()) as gateway:
        ann = await gateway.person()
        await ann.say("chat:1", "I drink green tea", "My ship is red")
        resource = await ann.upload("Coffee is black.")
        [memory] = await ann.search("green tea", conversation_id="1", scope=["current_chat"])
        assert memory["text"].startswith("User: I drink green tea")
        assert memory["raw"]["created_at"].startswith("2026-")
        assert (await ann.texts("coffee")) == ["Coffee is black."]
        assert checked(await ann.patch(memory["id"], "I drink water"), 200)
        assert await ann.texts("water") == ["I drink water"]
        lines = (await ann.get(f"/users/{ann.user_id}/export")).text.splitlines()
        assert '"complete":true' in lines[-1]
        assert (await ann.delete(f"/memories/{memory['id']}")).status_code == 204
        assert (await ann.delete(f"/resources/{resource['resource_id']}")).status_code == 204
        assert board.texts(ann.user_id) == ["User: My ship is red\nAssistant: Noted."]
        assert (await ann.delete(f"/users/{ann.user_id}")).status_code == 204
        assert board.texts(ann.user_id) == []


LISTS: tuple[Extension, ...] = ("list",)


@pytest.mark.parametrize("extensions", [(), LISTS])
async def test_without_text_search_a_whole_word_comes_before_a_part_of_one(
    store: str, extensions: tuple[Extension, ...]
) -> None:
    async with people.gateway(store, switchboard((), extensions).client()) as gateway:
        ann = await gateway.person()
        await ann.say(
            "chat:1", *(f"number{number}" for number in (5, *range(50, 60))), "green number5x"
        )
        first, *others = await ann.texts("number5", top_k=5)
        assert first.startswith("User: number5\n")
        assert len(others) == 4
        first, *_ = await ann.texts("green number5")
        assert first.startswith("User: green number5x")


async def test_without_text_search_every_memory_is_found_if_the_plugin_lists_them(
    store: str,
) -> None:
    board = switchboard((), LISTS)
    # It takes a few namespaces at a time, and does not say how many.
    board.refuses = lambda body: body.count("custom:gw:") > 7
    async with people.gateway(store, board.client()) as gateway:
        ann = await gateway.person()
        turns = [one for number in range(150) for one in turn(f"tea number{number}")]
        await ann.add("chat:long", *turns)
        await ann.flush("chat:long")
        for number in range(20):
            await ann.say(f"chat:{number}", f"coffee number{number}")
        for word in ("tea number0", "tea number149", "coffee number0", "coffee number19"):
            assert (await ann.texts(word))[0].startswith(f"User: {word}\n")


async def test_ruling_4_a_wrong_key_is_reported_even_if_the_plugin_is_down(
    ann: Person, bob: Person, plugin: Switchboard
) -> None:
    for person in (ann, bob):
        await person.say("chat:1", "I drink tea")
        assert await person.search("tea")
    plugin.is_down = True
    checked(await ann.http.post(f"/users/{ann.user_id}/rotate-key"), 200)
    checked(await bob.delete(f"/users/{bob.user_id}"), 202)
    for person in (ann, bob):
        asked = {"query": "tea", "scope": ["all_user_memory"]}
        checked(await person.post("/memories/search", **asked), 401)


async def test_a_plugin_that_is_down_is_reported(ann: Person, plugin: Switchboard) -> None:
    await ann.say("chat:1", "I drink tea")
    plugin.is_down = True
    answer = await ann.post("/memories/search", query="tea", scope=["all_user_memory"])
    assert checked(answer, 503)["code"] == "unavailable"
    assert int(answer.headers["retry-after"]) >= 1
    # Where there is nothing to look at, nobody has to be asked.
    assert checked(await ann.post("/memories/search", query="tea"), 200) == {"results": []}
    health = checked(await ann.http.get("/health"), 200)
    assert (health["status"], health["backend"], health["database"]) == (
        "degraded",
        "unavailable",
        "ok",
    )


async def test_a_plugin_that_wants_another_token_is_reported_like_one_that_is_down(
    ann: Person, plugin: Switchboard
) -> None:
    await ann.say("chat:1", "I drink tea")
    plugin.wants_a_token = True
    health = checked(await ann.http.get("/health"), 200)
    assert (health["status"], health["backend"]) == ("degraded", "unavailable")
    await ann.add("chat:1", *turn("I drink water"))
    for answer in (
        await ann.post("/memories/search", query="tea", scope=["all_user_memory"]),
        await ann.post("/memories/flush", session_id="chat:1"),
        await ann.get(f"/users/{ann.user_id}/export"),
    ):
        assert checked(answer, 503)["code"] == "unavailable"


async def test_health_says_what_the_gateway_is_made_of(gateway: Gateway) -> None:
    assert checked(await gateway.http.get("/health"), 200) == {
        "status": "ok",
        "version": "1.0.0",
        "api": "ok",
        "backend": "ok",
        "database": "ok",
        "extractor": "rules",
        "embedder": "off",
    }


async def test_turns_of_two_users_never_meet(ann: Person, bob: Person) -> None:
    for person in (ann, bob):
        await person.add("chat:1", *turn(f"tea of {person.user_id}"))
        await person.flush("chat:1")
    for person in (ann, bob):
        [text] = await person.texts("tea")
        assert person.user_id in text


async def test_searches_at_the_same_time_get_their_own_memories(ann: Person, bob: Person) -> None:
    for number in range(3):
        await ann.say(f"chat:{number}", f"tea of ann {number}")
        await bob.say(f"chat:{number}", f"tea of bob {number}")
    stranger = Person(ann.http, ann.user_id, bob.key)
    for _ in range(3):
        refused = asyncio.create_task(stranger.post("/memories/search", query="tea"))
        found = await asyncio.gather(*(it.texts("tea") for it in (ann, bob) * 5))
        checked(await refused, 401)
        for name, texts in zip(("ann", "bob") * 5, found, strict=True):
            assert sorted(texts) == [
                f"User: tea of {name} {number}\nAssistant: Noted." for number in range(3)
            ]


async def test_what_a_plugin_finds_of_another_user_is_not_shown(
    ann: Person, bob: Person, plugin: Switchboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    for person in (ann, bob):
        await person.add("chat:1", *turn(f"tea of {person.user_id}"))
        await person.flush("chat:1")
    spaces = plugin.spaces(ann.user_id) + plugin.spaces(bob.user_id)
    everything = [(str(row.id), row.content, 1.0) for it in spaces for row in it.rows.values()]
    assert len(everything) == 2

    async def search(*_: object) -> list[Found]:
        return everything

    monkeypatch.setattr(Plugin, "search", search)
    together = await asyncio.gather(ann.texts("tea"), bob.texts("tea"))
    for person, texts in zip((ann, bob), together, strict=True):
        [text] = texts
        assert person.user_id in text
