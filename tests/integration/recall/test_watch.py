"""The look at PostgreSQL that every proxied request waits for."""

from collections.abc import AsyncIterator

import pytest

from postgres.codecs import json_as_python
from postgres.database import Database
from recall.ledger import STATEMENTS
from recall.memory import memory_id
from recall.settings import Settings
from recall.watch import Choice, Watch
from recall.worker import SCHEMA_NAME
from tests import timeouts
from tests.integration.recall.server import Recall

pytestmark = pytest.mark.anyio
LOOKS = 20


@pytest.fixture
async def database(recall_database: str, server: Recall) -> AsyncIterator[Database]:
    """The tables of a running server; one after the other, all statements use one connection."""
    assert server.url
    settings = Settings(database_url=recall_database, **timeouts.LIMITS)
    opened = Database(settings, name="test", search_path=SCHEMA_NAME, prepare=json_as_python)
    await opened.open()
    yield opened
    await opened.close()


@pytest.mark.parametrize("count", [0, 1, 100])
async def test_what_was_kept_for_a_turn_is_seen(database: Database, owner: str, count: int) -> None:
    watch = Watch(database)
    chosen = Choice(
        "the block" * count, tuple(memory_id(owner, str(number)) for number in range(count))
    )
    await watch.keep(owner.encode(), "mark", chosen, None)
    glance = await watch.look(owner, owner.encode())
    assert (glance.seen, glance.choice) == ("mark", chosen)
    assert (await watch.look(owner, b"another turn")).choice is None


async def test_the_look_is_not_planned_for_every_request(database: Database, owner: str) -> None:
    watch = Watch(database)
    for number in range(LOOKS):
        await watch.look(owner, b"%d" % number)
    plans = await database.fetchrow(
        "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement = $1",
        STATEMENTS.load("glance"),
    )
    assert plans is not None
    # PostgreSQL plans a statement five times before it compares.
    assert (plans["generic_plans"], plans["custom_plans"]) == (LOOKS - 5, 5)


async def test_a_block_is_not_compressed(database: Database, owner: str) -> None:
    chosen = Choice("the block, " * 1000, ())
    await Watch(database).keep(owner.encode(), "mark", chosen, None)
    row = await database.fetchrow(
        "SELECT octet_length(block) AS length, pg_column_size(block) AS size"
        " FROM turns WHERE digest = $1",
        owner.encode(),
    )
    assert row is not None
    assert row["size"] == row["length"]
