"""Rulings 10 to 15: the list, titles, and deleting."""

from typing import Any

from tests.acceptance.conversations.people import Agent, Talk, User
from tests.conftest import execute

LIST = "/v1/user/conversations"


def pages(user: User, query: str = "", limit: int = 3) -> list[dict[str, Any]]:
    """The whole list, page by page; the last page is the one without a cursor."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = user.get(f"{LIST}?limit={limit}{query}{cursor}")
        found += page["data"]
        if page["nextCursor"] is None:
            return found
        assert len(page["data"]) == limit
        cursor = f"&after={page['nextCursor']}"


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [it["id"] for it in found]


def test_ruling_10_newest_first_and_no_page_loses_any(alice: User, bob: User) -> None:
    talks = [alice.start() for _ in range(7)]
    shared = bob.start()
    bob.share(shared, alice, "reader")
    talks.append(shared)
    found = pages(alice)
    assert ids(found) == [talk.id for talk in reversed(talks)]
    assert [it["accessLevel"] for it in found] == ["reader"] + ["owner"] * 7
    assert ids(pages(alice, limit=4)) == ids(found)
    assert ids(pages(alice, limit=8)) == ids(found)
    by_id = alice.get(f"{LIST}?limit=2&after={talks[4].id}")
    assert ids(by_id["data"]) == [talks[3].id, talks[2].id]
    stranger = bob.start()
    alice.get(f"{LIST}?after={stranger.id}", 400)


def test_ruling_10_equal_times_lose_nothing(alice: User, store: str) -> None:
    talks = [alice.start() for _ in range(6)]
    execute(
        store,
        "UPDATE memory_conversations.conversations SET updated_at = '2026-01-01T00:00:00Z'"
        f" WHERE owner_user_id = '{alice.name}'",
    )
    found = ids(pages(alice, limit=2))
    assert found == sorted(talk.id for talk in talks)


def test_ruling_11_every_word_occurs_in_title_or_metadata(alice: User) -> None:
    one = alice.start(title="Straße nach Köln", metadata={"tag": ["Kafka", {"deep": "STREAMS"}]})
    alice.start(title="Kafka alone", metadata={"streams": "only a key"})
    assert ids(pages(alice, "&query=kafka streams")) == [one.id]
    assert ids(pages(alice, "&query=KÖLN kafka")) == [one.id]
    assert ids(pages(alice, "&query=strasse")) == [one.id]
    assert pages(alice, "&query=kafka nowhere") == []
    assert pages(alice, "&query=100%25") == []
    assert len(pages(alice, "&query=")) == 2


def test_ruling_12_modes(alice: User) -> None:
    talk = alice.start("one", "two")
    two = alice.get(f"{talk.user}/messages")["data"][1]["id"]
    fork = alice.fork(talk, two, "another")
    lone = alice.start("lone")
    assert ids(pages(alice)) == [lone.id, fork.id, talk.id]
    assert ids(pages(alice, "&mode=roots")) == [lone.id, talk.id]
    assert ids(pages(alice, "&mode=latest-fork")) == [lone.id, fork.id]
    alice.say(talk, "the trunk again")
    assert ids(pages(alice, "&mode=latest-fork")) == [talk.id, lone.id]


def test_ruling_13_only_what_users_see_moves_a_conversation(alice: User, bot: Agent) -> None:
    talk = alice.start("hello")
    before = alice.get(talk.user)
    bot.says(talk, {"content": "thought", "visibility": "agent"})
    bot.says(talk, {"content": "rule", "visibility": "system", "channel": "HISTORY"})
    bot.syncs(talk, "memory")
    until = alice.get(f"{talk.user}/messages")["data"][0]["id"]
    bot.sums_up(talk, until)
    after = alice.get(talk.user)
    assert after["updatedAt"] == before["updatedAt"]
    assert after["lastMessagePreview"] == "hello"
    parts = [{"type": "text", "text": "x" * 150}, {"type": "text", "text": "y" * 150}]
    [said] = bot.says(talk, {"content": parts})
    after = alice.get(talk.user)
    assert after["updatedAt"] == said["createdAt"]
    assert after["lastMessagePreview"] == ("x" * 150 + "\n" + "y" * 49)
    patched = alice.patch(talk.user, {"metadata": {"a": 1}})
    assert patched["updatedAt"] > after["updatedAt"]


def test_ruling_14_where_a_title_comes_from(alice: User, bot: Agent) -> None:
    talk = alice.start()
    bot.says(talk, "an assistant first")
    assert alice.get(talk.user)["title"] is None
    said = alice.say(talk, "  What   is\n the plan " + "x" * 60)
    assert alice.get(talk.user)["title"] == ("What is the plan " + "x" * 60)[:40]
    alice.say(talk, "something else")
    assert alice.get(talk.user)["title"].startswith("What is the plan")
    bot.sums_up(talk, said["id"], title="Plans")
    assert alice.get(talk.user)["title"] == "Plans"
    alice.patch(talk.user, {"title": "Mine"})
    bot.sums_up(talk, said["id"], title="More plans")
    assert alice.get(talk.user)["title"] == "Mine"


def test_ruling_14_patch_leaves_what_is_absent_and_clears_what_is_null(alice: User) -> None:
    talk = alice.start(title="t", metadata={"a": 1})
    assert alice.patch(talk.user, {"metadata": {"b": 2}})["title"] == "t"
    assert alice.patch(talk.user, {"title": None})["metadata"] == {"b": 2}
    assert alice.get(talk.user)["title"] is None
    assert alice.patch(talk.user, {"metadata": None})["metadata"] == {}
    alice.patch(talk.user, {}, 400)
    alice.patch(talk.user, {"other": 1}, 400)
    alice.patch(talk.user, {"title": "x" * 501}, 400)


def forked(alice: User) -> tuple[Talk, Talk, Talk, Talk]:
    """A trunk with a fork, a fork below that, and a fork beside it."""
    trunk = alice.start("one", "two")
    two = alice.get(f"{trunk.user}/messages")["data"][1]["id"]
    fork = alice.fork(trunk, two, "fork two")
    alice.say(fork, "fork three")
    last = alice.get(f"{fork.user}/messages")["data"][2]["id"]
    below = alice.fork(fork, last, "below three")
    beside = alice.fork(trunk, two, "beside two")
    return trunk, fork, below, beside


def test_ruling_15_delete_removes_the_whole_group(alice: User, bob: User) -> None:
    talks = forked(alice)
    alice.share(talks[0], bob, "reader")
    alice.post(f"{talks[0].user}/transfer-ownership", {"newOwnerUserId": bob.name}, 202)
    alice.delete(talks[2].user)
    for talk in talks:
        alice.get(talk.user, 404)
    assert bob.get("/v1/user/ownership-transfers")["data"] == []
    assert pages(alice) == pages(bob) == []
    assert alice.finds("two") == []
    alice.delete(talks[0].user, 404)


def test_ruling_15_a_branch_goes_with_what_is_below_it(alice: User, bob: User) -> None:
    trunk, fork, below, beside = forked(alice)
    sent = alice.post(f"{fork.user}/transfer-ownership", {"newOwnerUserId": bob.name}, 202)
    alice.delete(f"{fork.user}?scope=branch")
    for gone in (fork, below):
        alice.get(gone.user, 404)
    assert alice.reads(trunk) == ["one", "two"]
    assert alice.reads(beside) == ["one", "beside two"]
    assert alice.finds("three") == []
    # A transfer is of the group and stays.
    assert bob.get(f"/v1/user/ownership-transfers/{sent['id']}")["conversationId"] == trunk.id
    alice.delete(f"{trunk.user}?scope=branch")
    alice.get(beside.user, 404)


def test_groups_of_one_owner_begin_alike_so_that_a_plugin_can_search_them_together(
    alice: User, bob: User
) -> None:
    def groups(user: User) -> list[str]:
        return [it["conversationGroupId"] for it in pages(user)]

    for _ in range(5):
        alice.start()
    bob.start()
    assert len(set(groups(alice))) == 5
    [mine] = {group.split("-")[0] for group in groups(alice)}
    [theirs] = {group.split("-")[0] for group in groups(bob)}
    assert mine != theirs
