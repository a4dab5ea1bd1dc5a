"""Rulings 34 to 36: search, on the plugin and without it."""

import asyncio
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import asyncpg
import pytest

from tests.acceptance.command import running
from tests.acceptance.conversations.conftest import COMMAND, KEYS
from tests.acceptance.conversations.people import Agent, User, fresh
from tests.conftest import database_url, execute
from tests.waiting import until

SEARCH = "/v1/user/search/messages"


def fetch_value(url: str, query: str) -> Any:
    """One value, from synchronous code."""

    async def run() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    return asyncio.run(run())


def wait_until_indexed(store: str) -> None:
    """Until the plugin has been told everything."""
    waiting = "SELECT count(*) FROM memory_conversations.outbox WHERE NOT refused"
    until(lambda: not fetch_value(store, waiting), "the outbox is not emptied")


def test_ruling_34_only_what_one_may_see_now(
    alice: User, bob: User, bot: Agent, store: str
) -> None:
    word = f"w{uuid.uuid4().hex}"
    mine, theirs = alice.start(f"my {word}"), bob.start(f"their {word}")
    bot.says(mine, {"content": f"hidden {word}", "visibility": "agent"})
    for settle in (False, True):
        if settle:
            wait_until_indexed(store)
        assert alice.finds(word) == [f"my {word}"]
        bob.share(theirs, alice, "reader")
        assert sorted(alice.finds(word)) == [f"my {word}", f"their {word}"]
        bob.delete(f"{theirs.user}/memberships/{alice.name}")
        assert alice.finds(word) == [f"my {word}"]


def parents_found(user: User, bot: Agent, settle: Callable[[], None]) -> list[list[str | None]]:
    """The parents of two answers as a search tells them, at once and later; as said at first."""
    word = f"w{uuid.uuid4().hex}"
    talk = user.start("hello")
    seen = user.get(f"{talk.user}/messages")["data"][0]["id"]
    [hidden] = bot.says(talk, {"content": "thought", "visibility": "agent", "channel": "HISTORY"})
    answers = [{"content": word, "parentMessageId": it} for it in (seen, hidden["id"])]
    told = [[it["parentMessageId"] for it in bot.says(talk, *answers)]]
    for is_settled in (False, True):
        if is_settled:
            settle()
        found = user.post(SEARCH, {"query": word}, 200)["data"]
        messages = sorted((it["message"] for it in found), key=lambda it: int(it["sequence"]))
        told.append([it["parentMessageId"] for it in messages])
    return told


def test_ruling_19_a_parent_that_users_do_not_see_is_not_named(
    alice: User, bot: Agent, store: str, without_plugin: tuple[str, str]
) -> None:
    said, *told = parents_found(alice, bot, lambda: wait_until_indexed(store))
    assert told == [[said[0], None]] * 2
    # The words of a message are added before a search looks for them.
    address, url = without_plugin
    waiting = "SELECT count(*) FROM memory_conversations.outbox WHERE NOT has_words"
    carol, its_bot = User(address, fresh("carol")), Agent(address, "bot")
    said, *told = parents_found(
        carol, its_bot, lambda: until(lambda: not fetch_value(url, waiting))
    )
    assert told == [[said[0], None]] * 2


def test_ruling_34_each_message_once_and_only_on_the_paths_asked_for(
    alice: User, store: str
) -> None:
    word = f"w{uuid.uuid4().hex}"
    trunk = alice.start(f"one {word}", f"two {word}")
    one, two = [it["id"] for it in alice.get(f"{trunk.user}/messages")["data"]]
    fork = alice.fork(trunk, two, f"fork {word}")
    lone = alice.start(f"lone {word}")
    for settle in (False, True):
        if settle:
            wait_until_indexed(store)
        everything = alice.finds(word)
        assert sorted(everything) == sorted(
            [f"one {word}", f"two {word}", f"fork {word}", f"lone {word}"]
        )
        on_fork = alice.finds(word, conversationIds=[fork.id.upper()])
        assert sorted(on_fork) == [f"fork {word}", f"one {word}"]
        assert alice.finds(word, conversationIds=[str(uuid.uuid4())]) == []
        assert len(alice.finds(word, conversationIds=[])) == 4
        both = alice.finds(word, conversationIds=[lone.id, str(uuid.uuid4()), trunk.id])
        assert sorted(both) == sorted([f"lone {word}", f"one {word}", f"two {word}"])
        assert alice.finds(word, before=two) == [f"one {word}"]
        assert alice.finds(word, before=one) == []
        assert len(alice.finds(word, topK=2)) == 2


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "query"),
        ({"query": "  "}, "query"),
        ({"query": "x" * 1001}, "query"),
        ({"query": "x", "topK": 0}, "topK"),
        ({"query": "x", "topK": 101}, "topK"),
        ({"query": "x", "topK": "5"}, "topK"),
        ({"query": "x", "topK": 1.5}, "topK"),
        ({"query": "x", "before": str(uuid.uuid4())}, "before"),
        ({"query": "x", "conversationIds": ["x"]}, "conversationIds[0]"),
        ({"query": "x", "conversationIds": [str(uuid.uuid4())] * 101}, "conversationIds"),
    ],
)
def test_ruling_34_a_bad_question_is_named(
    alice: User, fields: dict[str, object], field: str
) -> None:
    alice.start("hello")
    assert alice.post(SEARCH, fields, 400)["details"]["field"] == field


def test_ruling_35_the_plugin_holds_what_users_see_under_the_groups_name(
    alice: User, bot: Agent, store: str
) -> None:
    talk = alice.start("hello")
    said = alice.get(f"{talk.user}/messages")["data"][0]
    bot.says(talk, {"content": "hidden", "visibility": "agent"})
    long = alice.say(talk, "x" * 150_000)
    wait_until_indexed(store)
    rows = (
        "SELECT string_agg(id || ':' || char_length(content), ',' ORDER BY char_length(content))"
        f" FROM memory_plugin.memory_records WHERE namespace = 'custom:conv:{talk.group}'"
    )
    assert fetch_value(store, rows) == f"{said['id']}:5,{long['id']}:100000"
    alice.delete(talk.user)
    wait_until_indexed(store)
    names = (
        "SELECT count(*) FROM memory_plugin.memory_namespaces"
        f" WHERE name = 'custom:conv:{talk.group}' AND expires_at IS NULL"
    )
    assert fetch_value(store, names) == 0
    assert fetch_value(store, rows) is None


def test_ruling_35_a_deleted_branch_leaves_the_plugin(alice: User, store: str) -> None:
    trunk = alice.start("one", "two")
    two = alice.get(f"{trunk.user}/messages")["data"][1]["id"]
    fork = alice.fork(trunk, two, "fork two")
    wait_until_indexed(store)
    alice.delete(f"{fork.user}?scope=branch")
    wait_until_indexed(store)
    left = (
        "SELECT string_agg(content, ',' ORDER BY content) FROM memory_plugin.memory_records"
        f" WHERE namespace = 'custom:conv:{trunk.group}'"
    )
    assert fetch_value(store, left) == "one,two"


def test_ruling_36_found_from_the_answer_on_and_gone_with_the_deletion(
    alice: User, store: str
) -> None:
    talk = alice.start()
    for number in range(20):
        word = f"w{uuid.uuid4().hex}"
        alice.say(talk, f"number {number} {word}")
        assert alice.finds(word) == [f"number {number} {word}"]
    wait_until_indexed(store)
    # Unless the plugin is late, which is nobody's fault on a busy machine.
    until(lambda: alice.post(SEARCH, {"query": word}, 200)["backend"] == "plugin")
    alice.delete(talk.user)
    assert alice.finds("number") == []


def test_ruling_36_highlights(alice: User) -> None:
    alice.start("before " * 60 + "The quick fox was running home " + "after " * 100)
    [result] = alice.post(SEARCH, {"query": "run foxes"}, 200)["data"]
    assert "**fox**" in result["highlights"]
    assert "**running**" in result["highlights"]
    assert len(result["highlights"]) <= 300
    assert result["highlights"].count("**") % 2 == 0
    # What was found is in it, also behind a long address.
    alice.start(f"see https://example.com/{'x' * 400} for badgers")
    [result] = alice.post(SEARCH, {"query": "badger"}, 200)["data"]
    assert "**badgers**" in result["highlights"]
    assert len(result["highlights"]) <= 300


ODD = [
    ("naïve café", "naive cafe"),
    ("the and of", "the"),
    ("identifier foo_bar-42.baz", "foo_bar-42"),
    ("我喜欢喝绿茶", "绿茶"),
    ("東京タワーに行きました", "タワー"),
    ("Привет, как дела", "привет"),
    ("ภาษาไทยสวย", "ไทย"),
    ("x marks the spot", "x"),
    ("done 🎉 party", "🎉"),
    ("what?! (really) [yes]", "really)"),
]


@pytest.fixture(scope="module")
def without_plugin(
    cluster: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """A server whose plugin is away: its address and its database."""
    name = f"alone_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    url = database_url(cluster, name)
    with running(
        "--dev-auth",
        "--listen=127.0.0.1:0",
        f"--database-url={url}",
        f"--data-dir={tmp_path_factory.mktemp('alone')}",
        "--plugin-url=http://127.0.0.1:9",
        environment=KEYS,
        command=COMMAND,
    ) as server:
        yield server.address, url
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.mark.parametrize(("content", "query"), ODD, ids=[query for _, query in ODD])
def test_ruling_36_odd_queries_on_the_plugin(
    alice: User, store: str, content: str, query: str
) -> None:
    alice.start(content, "something else")
    assert alice.finds(query) == [content]
    wait_until_indexed(store)
    assert alice.finds(query) == [content]


@pytest.mark.parametrize(("content", "query"), ODD, ids=[query for _, query in ODD])
def test_ruling_36_odd_queries_on_postgres(
    without_plugin: tuple[str, str], content: str, query: str
) -> None:
    alice = User(without_plugin[0], fresh("alice"))
    alice.start(content, "something else")
    answer = alice.post(SEARCH, {"query": query}, 200)
    assert answer["backend"] == "postgres"
    assert [it["message"]["content"] for it in answer["data"]] == [content]


@pytest.mark.parametrize(
    "query", ["'", "\\", "%", "_", "**", "a & b | !c", "((", "a:*", "🏳️‍🌈", "-" * 900]
)
def test_ruling_36_every_query_is_answered(
    alice: User, without_plugin: tuple[str, str], query: str
) -> None:
    for who in (alice, User(without_plugin[0], fresh("alice"))):
        who.start("hello")
        who.post(SEARCH, {"query": query}, 200)


def test_ruling_36_postgres_answers_like_the_plugin(without_plugin: tuple[str, str]) -> None:
    address, _ = without_plugin
    alice, bob = User(address, fresh("alice")), User(address, fresh("bob"))
    assert alice.get("/v1/health")["plugin"] == "unavailable"
    trunk = alice.start("red apples", "green apples and pears")
    two = alice.get(f"{trunk.user}/messages")["data"][1]["id"]
    fork = alice.fork(trunk, two, "blue apples")
    bob.start("red apples of bob")
    assert sorted(alice.finds("apple")) == ["blue apples", "green apples and pears", "red apples"]
    assert alice.finds("green pears")[0] == "green apples and pears"
    assert sorted(alice.finds("apples", conversationIds=[fork.id])) == ["blue apples", "red apples"]
    assert alice.finds("apples", before=two) == ["red apples"]
    assert alice.finds("appl") != []
    alice.delete(f"{fork.user}?scope=branch")
    assert sorted(alice.finds("apple")) == ["green apples and pears", "red apples"]
