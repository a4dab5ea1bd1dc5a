"""Rulings 16 to 22: paths, numbers, pages and appends."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.acceptance.command import Running
from tests.acceptance.conversations.people import Agent, Talk, User
from tests.waiting import SECONDS


def listed(user: User, talk: Talk, query: str = "") -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = user.get(f"{talk.user}/messages{query}")["data"]
    return data


def test_ruling_16_a_path_is_what_came_before_and_then_ones_own(alice: User) -> None:
    trunk = alice.start("one", "two", "three")
    two = listed(alice, trunk)[1]["id"]
    fork = alice.fork(trunk, two, "fork two")
    alice.say(trunk, "four")
    alice.say(fork, "fork three")
    assert alice.reads(trunk) == ["one", "two", "three", "four"]
    assert alice.reads(fork) == ["one", "fork two", "fork three"]
    inner = alice.fork(fork, listed(alice, fork)[2]["id"], "inner three")
    alice.say(fork, "fork four")
    assert alice.reads(inner) == ["one", "fork two", "inner three"]


def test_ruling_17_numbers_go_on_along_a_path(alice: User, bot: Agent) -> None:
    trunk = alice.start("one")
    bot.says(trunk, {"content": "hidden", "visibility": "agent"})
    two = alice.say(trunk, "two")
    assert [it["sequence"] for it in listed(alice, trunk)] == [1, 3]
    fork = alice.fork(trunk, two["id"], "fork two")
    bot.says(fork, "three", "four")
    seen = listed(alice, fork)
    assert [it["sequence"] for it in seen] == [1, 3, 4, 5]
    assert [it["createdAt"] for it in seen] == sorted(it["createdAt"] for it in seen)
    assert [it["conversationId"] for it in seen] == [trunk.id, fork.id, fork.id, fork.id]


def test_ruling_18_scope(alice: User, bot: Agent) -> None:
    trunk = alice.start("one", "two")
    fork = alice.fork(trunk, listed(alice, trunk)[1]["id"], "fork two")
    assert alice.reads(fork, "?scope=own") == ["fork two"]
    assert alice.reads(fork, "?scope=path") == ["one", "fork two"]
    assert alice.reads(trunk, "?scope=own") == alice.reads(trunk)
    assert bot.context(fork, "?scope=own") == ["fork two"]
    assert bot.context(fork) == ["one", "fork two"]
    inherited = listed(alice, trunk)[0]["id"]
    assert alice.get(f"{fork.user}/messages?scope=own&after={inherited}", 400)


def test_ruling_19_users_see_visible_history_and_nothing_else(alice: User, bot: Agent) -> None:
    talk = alice.start("hello")
    hidden = bot.says(
        talk,
        {"content": "zebrafish thought", "visibility": "agent"},
        {"content": "zebrafish rule", "visibility": "system", "channel": "HISTORY"},
        {"content": "zebrafish agent history", "visibility": "agent", "channel": "HISTORY"},
    )
    bot.syncs(talk, "zebrafish memory")
    bot.sums_up(talk, hidden[1]["id"], text="zebrafish summary")
    assert alice.reads(talk) == ["hello"]
    assert alice.finds("zebrafish") == []
    assert alice.get(talk.user)["lastMessagePreview"] == "hello"
    for message in hidden:
        alice.get(f"{talk.user}/messages?after={message['id']}", 400)
        alice.post(f"{talk.user}/messages/{message['id']}/fork", {}, 404)
        alice.post("/v1/user/search/messages", {"query": "hello", "before": message["id"]}, 400)


def test_ruling_19_a_parent_that_users_do_not_see_is_not_named(alice: User, bot: Agent) -> None:
    talk = alice.start("hello")
    seen = listed(alice, talk)[0]["id"]
    [hidden] = bot.says(talk, {"content": "thought", "visibility": "agent", "channel": "HISTORY"})
    parents = [seen, hidden["id"]]
    said = bot.says(talk, *({"content": "answer", "parentMessageId": it} for it in parents))
    assert [it["parentMessageId"] for it in said] == parents
    for query in ("", "?tail=true", f"?after={seen}"):
        shown = listed(alice, talk, query)[-2:]
        assert [it["parentMessageId"] for it in shown] == [seen, None]
    context = bot.get(f"{talk.agent}/context")["messages"]
    assert [it["parentMessageId"] for it in context][-2:] == parents


def test_ruling_20_pages_in_both_directions(alice: User) -> None:
    talk = alice.start(*(f"m{i}" for i in range(7)))
    path = f"{talk.user}/messages"
    everything = listed(alice, talk)
    keys = [it["id"] for it in everything]
    first = alice.get(f"{path}?limit=3")
    assert [it["id"] for it in first["data"]] == keys[:3]
    assert (first["nextCursor"], first["prevCursor"]) == (keys[2], None)
    middle = alice.get(f"{path}?limit=3&after={first['nextCursor']}")
    assert [it["id"] for it in middle["data"]] == keys[3:6]
    assert (middle["nextCursor"], middle["prevCursor"]) == (keys[5], keys[3])
    last = alice.get(f"{path}?limit=3&after={middle['nextCursor']}")
    assert [it["id"] for it in last["data"]] == keys[6:]
    assert (last["nextCursor"], last["prevCursor"]) == (None, keys[6])
    back = alice.get(f"{path}?limit=3&before={middle['prevCursor']}")
    assert [it["id"] for it in back["data"]] == keys[:3]
    assert (back["nextCursor"], back["prevCursor"]) == (keys[2], None)
    tail = alice.get(f"{path}?limit=3&tail=true")
    assert [it["id"] for it in tail["data"]] == keys[4:]
    assert (tail["nextCursor"], tail["prevCursor"]) == (None, keys[4])
    whole = alice.get(f"{path}?limit=7")
    assert (whole["nextCursor"], whole["prevCursor"]) == (None, None)
    for query in (
        f"after={keys[0]}&before={keys[2]}",
        f"after={keys[0]}&tail=true",
        f"before={keys[0]}&tail=true",
        f"after={uuid.uuid4()}",
    ):
        alice.get(f"{path}?{query}", 400)
    other = alice.start("elsewhere")
    elsewhere = listed(alice, other)[0]["id"]
    alice.get(f"{path}?after={elsewhere}", 400)


def test_ruling_20_pages_across_the_border_of_a_fork(alice: User) -> None:
    trunk = alice.start(*(f"m{i}" for i in range(4)))
    fork = alice.fork(trunk, listed(alice, trunk)[3]["id"], "f3")
    alice.say(fork, "f4")
    path = f"{fork.user}/messages"
    tail = alice.get(f"{path}?limit=3&tail=true")
    assert [it["content"] for it in tail["data"]] == ["m2", "f3", "f4"]
    before = alice.get(f"{path}?limit=3&before={tail['prevCursor']}")
    assert [it["content"] for it in before["data"]] == ["m0", "m1"]
    after = alice.get(f"{path}?limit=2&after={before['nextCursor']}")
    assert [it["content"] for it in after["data"]] == ["m2", "f3"]


def test_ruling_21_parallel_writers_lose_nothing_and_keep_their_order(
    server: Running, alice: User, bot: Agent
) -> None:
    talk = alice.start()
    answered: list[tuple[int, str]] = []
    lock = threading.Lock()

    def write(writer: int) -> None:
        # A connection of its own: the writers are spread over the workers.
        with httpx.Client(base_url=server.address, headers=bot.headers, timeout=SECONDS) as client:
            for number in range(10):
                pair = [f"{writer}:{number}:{half}" for half in "ab"]
                body = {"messages": [{"content": content} for content in pair]}
                answer = client.post(f"{talk.agent}/messages", json=body)
                assert answer.status_code == 201
                with lock:
                    answered.extend(
                        (m["sequence"], m["content"]) for m in answer.json()["messages"]
                    )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    stored = [(it["sequence"], it["content"]) for it in listed(alice, talk, "?limit=1000")]
    assert sorted(answered) == stored
    assert [sequence for sequence, _ in stored] == list(range(1, 161))
    contents = [content for _, content in stored]
    for writer in range(8):
        own = [content for content in contents if content.startswith(f"{writer}:")]
        assert own == [f"{writer}:{number}:{half}" for number in range(10) for half in "ab"]
    # The messages of one request stand together.
    assert all(
        contents[i].removesuffix(":a") == contents[i + 1].removesuffix(":b")
        for i in range(0, len(contents), 2)
    )


def test_ruling_21_a_request_is_stored_whole_or_not_at_all(alice: User, bot: Agent) -> None:
    talk, other = alice.start("taken"), alice.start()
    taken = listed(alice, talk)[0]["id"]
    bot.says(other, "one", {"content": "two", "id": taken}, "three", expected=409)
    assert alice.reads(other) == []
    bot.says(other, "one", {"content": " "}, expected=400)
    assert alice.reads(other) == []


def test_ruling_22_defaults_of_agent_messages(alice: User, bot: Agent) -> None:
    talk = alice.start()
    said = bot.says(
        talk,
        "plain",
        {"content": "thought", "visibility": "agent"},
        {"content": "rule", "visibility": "system"},
        {"content": "note", "channel": "memory"},
        {"content": "shown", "channel": "history", "role": "tool"},
    )
    assert [(it["visibility"], it["channel"], it["role"]) for it in said] == [
        ("user", "HISTORY", "assistant"),
        ("agent", "MEMORY", "assistant"),
        ("system", "MEMORY", "assistant"),
        ("agent", "MEMORY", "assistant"),
        ("user", "HISTORY", "tool"),
    ]
    assert [it["memoryEpoch"] for it in said] == [None, 1, 1, 1, None]


def test_ruling_22_parents_users_and_no_auto_create(
    server: Running, alice: User, bob: User, bot: Agent
) -> None:
    talk, other = alice.start("hello"), alice.start("elsewhere")
    parent = listed(alice, talk)[0]["id"]
    elsewhere = listed(alice, other)[0]["id"]
    key = str(uuid.uuid4())
    said = bot.says(
        talk,
        {"content": "child", "parentMessageId": parent, "userId": bob.name, "id": key},
        {"content": "grandchild", "parentMessageId": key},
    )
    assert [it["parentMessageId"] for it in said] == [parent, key]
    assert said[0]["userId"] == bob.name
    [refused] = bot.says(talk, {"content": "x", "parentMessageId": elsewhere}, expected=400)
    assert refused["details"]["field"] == "messages[0].parentMessageId"
    for_alice = Agent(server.address, "bot", on_behalf_of=alice.name)
    [refused] = for_alice.says(talk, {"content": "x", "userId": bob.name}, expected=400)
    assert refused["details"]["field"] == "messages[0].userId"
    [said_for] = for_alice.says(talk, {"content": "x", "userId": alice.name})
    assert said_for["userId"] == alice.name
    bot.post(
        f"/v1/agent/conversations/{uuid.uuid4()}/messages", {"messages": [{"content": "x"}]}, 404
    )


@pytest.mark.parametrize("messages", [None, [], "x", [{"content": "x"}] * 1001])
def test_a_list_of_messages_has_its_limits(alice: User, bot: Agent, messages: object) -> None:
    talk = alice.start()
    refused = bot.post(f"{talk.agent}/messages", {"messages": messages}, 400)
    assert refused["details"]["field"] == "messages"
