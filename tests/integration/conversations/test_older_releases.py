"""A rolling upgrade: releases that end with migration 0003 or 0005 still serve today's schema.

`release_0003/` and `release_0005/` have their statements as they send them.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from conversations.access import Access, Level
from conversations.appends import Appends
from conversations.drafts import Draft, user_draft
from conversations.errors import NotFound
from conversations.fields import Fields
from conversations.paths import END
from conversations.settings import Settings
from conversations.statements import SCHEMA, SESSION, load
from postgres.database import Database
from postgres.errors import MigrationPending
from postgres.schema import Schema

pytestmark = pytest.mark.anyio

LATER = (datetime(9999, 1, 1, tzinfo=UTC), UUID(int=0))
OLDER = pytest.mark.parametrize("release", ["0003", "0005"])


def statement(release: str, name: str) -> str:
    return (Path(__file__).parent / f"release_{release}" / f"{name}.sql").read_text("utf-8")


def schema_of(release: str) -> Schema:
    """The schema as that release knows it."""
    older = replace(SCHEMA)
    vars(older)["migrations"] = SCHEMA.migrations[: int(release)]
    return older


def draft(content: str, user: str = "alice") -> Draft:
    return user_draft(Fields({"content": content}), user)


def arguments_0003(talk: UUID, said: Draft) -> list[Any]:
    """An array for each column; the askers are a range of one of them."""
    place = (talk, 1, True, True, said.preview, said.title, said.title, 1, 1)
    row = (said.id, talk, 0, *said.columns[1:])
    return [*([it] for it in place), [said.user], Level.WRITER, *([it] for it in row)]


def arguments_0005(talk: UUID, said: Draft) -> list[Any]:
    """An array of conversations and one of messages."""
    place = (talk, 1, True, True, said.preview, said.title, said.title, [said.user])
    return [[place], [(said.id, talk, 0, *said.columns[1:])], Level.WRITER, 1]


ARGUMENTS: dict[str, Callable[[UUID, Draft], list[Any]]] = {
    "0003": arguments_0003,
    "0005": arguments_0005,
}


class Talk:
    """A conversation to which both releases append."""

    def __init__(self, key: UUID, connection: asyncpg.Connection, appends: Appends) -> None:
        self.key = key
        self._connection = connection
        self._appends = appends

    async def older_says(self, release: str, content: str, user: str = "alice") -> int | None:
        """The number of the message, or None where the user may not write."""
        given = ARGUMENTS[release](self.key, draft(content, user))
        row = await self._connection.fetchrow(statement(release, "append_messages"), *given)
        return None if row is None else row["next_sequence"]

    async def newer_says(self, content: str, user: str = "alice") -> int:
        appended = await self._appends.add(self.key, [draft(content, user)], asker=user)
        number: int = appended.rows[0]["sequence"]
        return number

    async def reads(self) -> list[tuple[int, str]]:
        rows = await self._connection.fetch(load("visible_page"), self.key, False, 0, END, 100)
        return [(row["sequence"], row["content"]) for row in reversed(rows)]


@pytest.fixture
async def connection(database: str) -> AsyncIterator[asyncpg.Connection]:
    connected = await asyncpg.connect(database, server_settings=SESSION)
    await SCHEMA.migrate(connected)
    await connected.execute("SET search_path = memory_conversations")
    yield connected
    await connected.close()


@pytest.fixture
async def appends(connection: asyncpg.Connection, database: str) -> AsyncIterator[Appends]:
    assert connection
    settings = Settings(database_url=database, plugin_url="http://127.0.0.1:9", dev_auth=True)
    opened = Database(settings, name="test", search_path=SCHEMA.name, session=SESSION)
    yield Appends(opened, Access(opened))
    await opened.close()


async def make(connection: asyncpg.Connection, appends: Appends, create: str) -> Talk:
    key = uuid4()
    row = await connection.fetchrow(create, key, uuid4(), "alice", None, "", "{}", "")
    assert row is not None
    return Talk(key, connection, appends)


@OLDER
async def test_both_append_to_one_conversation(
    connection: asyncpg.Connection, appends: Appends, release: str
) -> None:
    for create in (load("create_conversation"), statement("0003", "create_conversation")):
        talk = await make(connection, appends, create)
        assert await talk.older_says(release, "one") == 1
        assert await talk.newer_says("two") == 2
        assert await talk.newer_says("three") == 3
        assert await talk.older_says(release, "four") == 4
        said = [(1, "one"), (2, "two"), (3, "three"), (4, "four")]
        assert await talk.reads() == said
        row = await connection.fetchrow(load("get_conversation"), talk.key)
        assert row is not None
        assert (row["title"], row["last_preview"]) == ("one", "four")


@OLDER
async def test_a_stranger_may_append_with_neither(
    connection: asyncpg.Connection, appends: Appends, release: str
) -> None:
    talk = await make(connection, appends, load("create_conversation"))
    assert await talk.older_says(release, "hello", "mallory") is None
    with pytest.raises(NotFound):
        await talk.newer_says("hello", "mallory")
    assert await talk.reads() == []


async def test_both_list_what_either_appended_to_last(
    connection: asyncpg.Connection, appends: Appends
) -> None:
    talks = [await make(connection, appends, load("create_conversation")) for _ in range(3)]
    await talks[0].older_says("0003", "first")
    await talks[2].newer_says("second")
    await talks[1].older_says("0005", "third")
    expected = [talks[1].key, talks[2].key, talks[0].key]
    page: tuple[Any, ...] = ("alice", *LATER, 10, False, False, [])
    for listed in (load("list_conversations"), statement("0003", "list_conversations")):
        assert [row["id"] for row in await connection.fetch(listed, *page)] == expected


@pytest.mark.parametrize("works", ["older", "newer"])
async def test_either_takes_from_the_outbox_what_both_put_there(
    connection: asyncpg.Connection, appends: Appends, works: str
) -> None:
    talk = await make(connection, appends, load("create_conversation"))
    await talk.older_says("0003", "a heron")
    await talk.newer_says("a sparrow")
    await connection.execute(statement("0003", "forget_group"), uuid4())
    await connection.execute(load("forget_group"), uuid4())
    if works == "older":
        await connection.execute(statement("0003", "add_words"), 100, None)
        rows = await connection.fetch(statement("0003", "take_outbox"), 100, 1_000_000)
    else:
        await connection.execute(load("add_words", leave_out="of-user"), 100, 1_000_000)
        rows = await connection.fetch(load("take_outbox"), 100, 1_000_000)
    told = [(row["action"], row["content"]) for row in rows]
    assert told == [("write", "a heron"), ("write", "a sparrow"), ("drop", None), ("drop", None)]
    for word in ("heron", "sparrow"):
        asked = ("alice", word, *[None] * 6, 10)
        found = await connection.fetch(load("search_words"), *asked)
        assert [row["text"] for row in found] == [f"a {word}"]


@OLDER
async def test_the_older_one_may_be_started_again(
    connection: asyncpg.Connection, release: str
) -> None:
    older = schema_of(release)
    assert await older.migrate(connection) == []
    await older.check(connection)


@OLDER
async def test_the_newer_one_migrates_the_older_schema_or_refuses_to_serve_it(
    database: str, release: str
) -> None:
    connected = await asyncpg.connect(database)
    await schema_of(release).migrate(connected)
    with pytest.raises(MigrationPending, match="0007_texts_without_words"):
        await SCHEMA.check(connected)
    applied = await SCHEMA.migrate(connected)
    assert applied == list(SCHEMA.migrations[int(release) :])
    await SCHEMA.check(connected)
    await connected.close()
