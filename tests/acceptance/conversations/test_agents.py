"""Rulings 30 to 33: context, summaries and memory."""

import uuid
from typing import Any

from tests.acceptance.conversations.people import Agent, Talk, User


def keys(user: User, talk: Talk) -> list[str]:
    return [it["id"] for it in user.get(f"{talk.user}/messages")["data"]]


def summed(text: str, until: str) -> list[dict[str, Any]]:
    return [
        {
            "type": "summary",
            "text": text,
            "untilMessageId": until,
            "summarizedAt": "2026-01-31T10:00:00Z",
        }
    ]


def test_ruling_30_what_an_agent_reads(alice: User, bot: Agent, other: Agent) -> None:
    talk = alice.start("one")
    bot.says(talk, {"content": "quiet", "visibility": "system", "channel": "HISTORY"})
    bot.syncs(talk, "old memory")
    bot.syncs(talk, "my memory")
    other.syncs(talk, "their memory")
    two = alice.say(talk, "two")
    assert bot.context(talk) == ["one", "quiet", "my memory", "two"]
    assert other.context(talk) == ["one", "quiet", "their memory", "two"]
    bot.sums_up(talk, two["id"], text="so far")
    alice.say(talk, "three")
    assert bot.context(talk) == ["my memory", summed("so far", two["id"]), "three"]
    assert other.context(talk) == ["their memory", summed("so far", two["id"]), "three"]
    assert bot.context(talk, "?summaries=none") == ["one", "quiet", "my memory", "two", "three"]
    assert bot.context(talk, "?channel=memory") == ["my memory"]
    assert bot.context(talk, "?channel=HISTORY") == ["one", "quiet", "two", "three"]
    assert bot.context(talk, "?tail=true&limit=2") == [summed("so far", two["id"]), "three"]
    bot.get(f"{talk.agent}/context?channel=SUMMARY", 400)
    bot.get(f"{talk.agent}/context?summaries=some", 400)


def test_ruling_31_a_summary_stands_for_what_it_covers(alice: User, bot: Agent) -> None:
    talk = alice.start("one", "two", "three")
    one, two, three = keys(alice, talk)
    stored = bot.sums_up(talk, two, text="short")
    assert (stored["channel"], stored["role"], stored["visibility"]) == (
        "SUMMARY",
        "agent",
        "agent",
    )
    assert stored["content"] == summed("short", two)
    assert bot.context(talk) == [summed("short", two), "three"]
    # The one that reaches furthest is used, of equals the newest.
    bot.sums_up(talk, one, text="shorter reach")
    assert bot.context(talk) == [summed("short", two), "three"]
    bot.sums_up(talk, two, text="newer")
    assert bot.context(talk) == [summed("newer", two), "three"]
    # It counts wherever the path holds that message.
    fork = alice.fork(talk, three, "other three")
    assert bot.context(fork) == [summed("newer", two), "other three"]
    earlier = alice.fork(talk, two, "other two")
    assert bot.context(earlier) == [summed("shorter reach", one), "other two"]
    bot.sums_up(fork, two, text="from the fork")
    assert bot.context(talk) == [summed("from the fork", two), "three"]
    elsewhere = alice.start("elsewhere")
    body = {
        "title": "t",
        "summary": "s",
        "untilMessageId": keys(alice, elsewhere)[0],
        "summarizedAt": "2026-01-31T10:00:00Z",
    }
    path = f"{talk.agent}/summaries"
    assert bot.post(path, body, 400)["details"]["field"] == "untilMessageId"
    good = {**body, "untilMessageId": one}
    for field, value in {
        "title": None,
        "summary": " ",
        "summarizedAt": "2026-01-31T10:00:00",
        "untilMessageId": "x",
    }.items():
        assert bot.post(path, {**good, field: value}, 400)["details"]["field"] == field


def test_ruling_31_a_summary_is_safe_to_repeat(alice: User, bot: Agent) -> None:
    talk = alice.start("one")
    body = {
        "title": "t",
        "summary": "s",
        "untilMessageId": keys(alice, talk)[0],
        "summarizedAt": "2026-01-31T10:00:00Z",
        "id": str(uuid.uuid4()),
    }
    path = f"{talk.agent}/summaries"
    stored = bot.post(path, body)
    assert bot.post(path, body, 200) == stored
    bot.post(path, {**body, "summary": "other"}, 409)


def test_ruling_32_continuing_after_any_message(alice: User, bot: Agent) -> None:
    talk = alice.start("one", "two", "three", "four")
    one, two, three, _ = keys(alice, talk)
    summary = bot.sums_up(talk, two)
    path = f"{talk.agent}/context"
    first = bot.get(f"{path}?limit=1")
    assert first["messages"][0]["id"] == summary["id"]
    assert first["nextAfterMessageId"] == summary["id"]
    for after in (summary["id"], two):
        assert bot.context(talk, f"?afterMessageId={after}") == ["three", "four"]
    assert bot.context(talk, f"?afterMessageId={one}")[1:] == ["three", "four"]
    assert bot.get(f"{path}?afterMessageId={three}")["nextAfterMessageId"] is None
    bot.get(f"{path}?afterMessageId={uuid.uuid4()}", 400)
    elsewhere = alice.start("elsewhere")
    bot.get(f"{path}?afterMessageId={keys(alice, elsewhere)[0]}", 400)
    # Page by page nothing is lost, and the last page says so.
    seen: list[Any] = []
    query = "?limit=2&summaries=none"
    while True:
        page = bot.get(f"{path}{query}")
        seen += [it["content"] for it in page["messages"]]
        if page["nextAfterMessageId"] is None:
            break
        query = f"?limit=2&summaries=none&afterMessageId={page['nextAfterMessageId']}"
    assert seen == ["one", "two", "three", "four"]


def test_ruling_32_no_page_loses_a_summary_that_covers_memory(alice: User, bot: Agent) -> None:
    talk = alice.start("one")
    [memory] = bot.syncs(talk, "remembered")["messages"]
    alice.say(talk, "two")
    bot.sums_up(talk, memory["id"], text="so far")
    rest = [summed("so far", memory["id"]), "two"]
    assert bot.context(talk) == ["remembered", *rest]
    first = bot.get(f"{talk.agent}/context?limit=1")
    assert [it["id"] for it in first["messages"]] == [memory["id"]]
    after = first["nextAfterMessageId"]
    assert bot.context(talk, f"?afterMessageId={after}") == rest


def test_a_summary_is_as_large_as_content_at_the_most(alice: User, bot: Agent) -> None:
    talk = alice.start("one")
    [one] = keys(alice, talk)
    # In JSON with two quotes, and two bytes a letter.
    largest = "é" * (2 * 1024 * 1024 - 1)
    bot.sums_up(talk, one, text=largest)
    body = {
        "title": "t",
        "summary": f"{largest}é",
        "untilMessageId": one,
        "summarizedAt": "2026-01-31T10:00:00Z",
    }
    assert bot.post(f"{talk.agent}/summaries", body, 400)["details"]["field"] == "summary"


def test_ruling_33_sync(alice: User, bot: Agent, other: Agent) -> None:
    talk = alice.start("hello")
    first = bot.syncs(talk, "a", {"content": [{"type": "text", "text": "b"}], "role": "tool"})
    assert (first["memoryEpoch"], first["noOp"]) == (1, False)
    assert len(first["messages"]) == 2
    same = bot.syncs(talk, "a", {"content": [{"text": "b", "type": "text"}], "role": "tool"})
    assert same == {"memoryEpoch": 1, "noOp": True, "epochIncremented": False, "messages": []}
    [grown] = [
        bot.syncs(talk, "a", {"content": [{"type": "text", "text": "b"}], "role": "tool"}, "c")
    ]
    assert (grown["memoryEpoch"], grown["epochIncremented"]) == (1, False)
    assert [it["content"] for it in grown["messages"]] == ["c"]
    # The role counts, too.
    other_role = bot.syncs(talk, {"content": "a", "role": "user"})
    assert (other_role["memoryEpoch"], other_role["epochIncremented"]) == (2, True)
    [appended] = bot.says(talk, {"content": "d", "channel": "MEMORY"})
    assert appended["memoryEpoch"] == 2
    assert bot.context(talk, "?channel=MEMORY") == ["a", "d"]
    empty = bot.syncs(talk)
    assert (empty["memoryEpoch"], empty["epochIncremented"], empty["messages"]) == (3, True, [])
    assert bot.syncs(talk)["noOp"] is True
    assert bot.context(talk, "?channel=MEMORY") == []
    assert other.syncs(talk, "theirs")["memoryEpoch"] == 1
    refused = bot.post(
        f"{talk.agent}/memory/messages/sync",
        {"messages": [{"content": "x", "channel": "HISTORY"}]},
        400,
    )
    assert refused["details"]["field"] == "messages[0].channel"
    bot.post(f"{talk.agent}/memory/messages/sync", {}, 400)


def test_ruling_33_a_fork_adds_only_what_is_new(alice: User, bot: Agent) -> None:
    talk = alice.start("one")
    bot.syncs(talk, "a", "b")
    two = alice.say(talk, "two")
    bot.syncs(talk, "later")
    fork = alice.fork(talk, two["id"], "other two")
    assert bot.context(fork, "?channel=MEMORY") == ["a", "b"]
    done = bot.syncs(fork, "a", "b", "c")
    assert (done["memoryEpoch"], done["epochIncremented"]) == (1, False)
    assert [it["conversationId"] for it in done["messages"]] == [fork.id]
    assert bot.context(talk, "?channel=MEMORY") == ["later"]
    assert bot.syncs(fork, "new")["memoryEpoch"] == 2


def test_ruling_33_an_empty_epoch_is_inherited(alice: User, bot: Agent) -> None:
    talk = alice.start("one")
    bot.syncs(talk, "a")
    bot.syncs(talk)
    two = alice.say(talk, "two")
    fork = alice.fork(talk, two["id"], "other two")
    assert bot.context(fork, "?channel=MEMORY") == []
    assert bot.syncs(fork)["noOp"] is True
