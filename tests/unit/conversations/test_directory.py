"""Creating a conversation whose id is known, while PostgreSQL goes away."""

from typing import Any, cast

import pytest
from starlette.types import Message

from conversations.access import Access, Caller, Level
from conversations.calls import Call
from conversations.directory import Directory
from conversations.text_postgres import PostgresText
from postgres.database import Database
from postgres.errors import StoreUnavailable

pytestmark = pytest.mark.anyio


class KnowsEveryId:
    async def fetchrow(self, *_: Any) -> None:
        return None


class Away:
    async def enter(self, *_: Any) -> None:
        raise StoreUnavailable("PostgreSQL is away")


async def test_an_outage_is_not_taken_for_a_conversation_of_somebody_else() -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    database, access = cast(Database, KnowsEveryId()), cast(Access, Away())
    directory = Directory(database, access, PostgresText(database))
    with pytest.raises(StoreUnavailable):
        await directory.create(Call({}, receive, Caller("alice"), access, Level.READER))
