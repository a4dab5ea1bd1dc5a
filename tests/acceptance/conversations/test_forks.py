"""Rulings 23 to 25: forks."""

import uuid

from tests.acceptance.conversations.people import Agent, User


def test_ruling_23_what_can_be_forked(alice: User, bot: Agent) -> None:
    talk = alice.start("question")
    question = alice.get(f"{talk.user}/messages")["data"][0]["id"]
    [reply] = bot.says(talk, "reply")
    [thought] = bot.says(talk, {"content": "thought", "visibility": "agent", "role": "user"})
    elsewhere = alice.start("elsewhere")
    foreign = alice.get(f"{elsewhere.user}/messages")["data"][0]["id"]
    path = f"{talk.user}/messages"
    assert alice.post(f"{path}/{reply['id']}/fork", {}, 400)["details"]["field"] == "messageId"
    for unseen in (thought["id"], foreign, str(uuid.uuid4()), "x"):
        assert alice.post(f"{path}/{unseen}/fork", {}, 404)["details"]["resource"] == "message"
    made = alice.fork(talk, question)
    assert alice.reads(made) == []
    # An inherited message can be forked from the fork, too.
    alice.say(talk, "second")
    second = alice.get(path)["data"][2]["id"]
    fork = alice.fork(talk, second, "other second")
    again = alice.fork(fork, question, "other question")
    assert alice.reads(again) == ["other question"]
    assert again.made["forkedAtConversationId"] == talk.id


def test_ruling_23_title_and_first_message(alice: User) -> None:
    talk = alice.start("one", "two", title="Trunk")
    two = alice.get(f"{talk.user}/messages")["data"][1]["id"]
    assert alice.fork(talk, two, "x").made["title"] == "Trunk"
    assert alice.fork(talk, two, "x", title=" ").made["title"] == "Trunk"
    assert alice.fork(talk, two, "x", title="Own").made["title"] == "Own"
    path = f"{talk.user}/messages/{two}/fork"
    refused = alice.post(path, {"newMessage": {"content": ""}}, 400)
    assert refused["details"]["field"] == "newMessage.content"
    assert len(alice.get(f"{talk.user}/forks")["data"]) == 4


def test_ruling_24_where_a_fork_was_made(alice: User, bot: Agent) -> None:
    talk = alice.start("one")
    [reply] = bot.says(talk, "reply")
    bot.says(talk, {"content": "hidden history", "visibility": "agent", "channel": "HISTORY"})
    bot.syncs(talk, "remembered")
    two = alice.say(talk, "two")
    fork = alice.fork(talk, two["id"], "other two")
    assert fork.made["forkedAtConversationId"] == talk.id
    assert fork.made["forkedAtMessageId"] == reply["id"]
    assert fork.group == talk.group
    # What only agents see is inherited, and users still do not see it.
    assert bot.context(fork) == ["one", "reply", "hidden history", "remembered", "other two"]
    assert alice.reads(fork) == ["one", "reply", "other two"]
    first = alice.get(f"{talk.user}/messages")["data"][0]["id"]
    assert alice.fork(talk, first, "other one").made["forkedAtMessageId"] is None


def test_ruling_25_forks_of_the_group(alice: User) -> None:
    talk = alice.start("one", "two")
    one, two = [it["id"] for it in alice.get(f"{talk.user}/messages")["data"]]
    forks = [alice.fork(talk, two, "a"), alice.fork(talk, one, "b"), alice.fork(talk, two, "c")]
    for current in (talk, *forks):
        found = alice.get(f"{current.user}/forks")["data"]
        assert [it["forkId"] for it in found] == [talk.id, *(fork.id for fork in forks)]
        assert [it["conversationId"] for it in found] == [it["forkId"] for it in found]
        assert {it["conversationGroupId"] for it in found} == {talk.group}
        assert [it["isCurrentFork"] for it in found] == [it["forkId"] == current.id for it in found]
    assert [it["forkedFromMessageId"] for it in found] == [None, two, one, two]
    assert [it["forkedAtMessageId"] for it in found] == [None, one, None, one]
    page = alice.get(f"{talk.user}/forks?limit=2")
    rest = alice.get(f"{talk.user}/forks?limit=2&after={page['nextCursor']}")
    assert page["data"] + rest["data"] == alice.get(f"{talk.user}/forks")["data"]
    assert rest["nextCursor"] is None
    alice.get(f"{talk.user}/forks?after={uuid.uuid4()}", 400)
