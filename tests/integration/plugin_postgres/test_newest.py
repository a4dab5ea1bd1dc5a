"""Concurrent searches for the newest memories share statements, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from contract import BatchWrite, MemoryClient, NamespaceUpsert
from plugin_postgres.database import Database
from plugin_postgres.newest import NewestQueue
from plugin_postgres.settings import Settings
from postgres.errors import StoreUnavailable
from tests import timeouts
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

ALONE = 0
SPACES = [f"workspace:{number}" for number in range(6)]


class Watched(Database):
    """Records how many share each statement, and holds the first answer back until released."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.asked: list[int] = []
        self.released = asyncio.Event()

    async def fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        limits = arguments[-1]
        self.asked.append(len(limits) if isinstance(limits, list) else ALONE)
        if len(self.asked) == 1:
            await self.released.wait()
        return await super().fetch(query, *arguments)


@pytest.fixture
async def watched(migrated: str) -> AsyncIterator[Watched]:
    async with plugin.memory_client(migrated) as client:
        await fill(client)
    opened = Watched(Settings(database_url=migrated, **timeouts.LIMITS))
    await opened.open()
    yield opened
    await opened.close()


async def fill(client: MemoryClient) -> None:
    """In the namespace of number n there are n memories, the newest called n."""
    for name in SPACES:
        await client.put_namespace(name, NamespaceUpsert(kind="workspace"))
    writes = [
        BatchWrite(
            namespace=name,
            content=f"{number - age} of {name}",
            kind="fact",
            source="user",
            created_at=datetime(2026, 1, 1, tzinfo=UTC) - timedelta(minutes=age),
        )
        for number, name in enumerate(SPACES)
        for age in range(number)
    ]
    await client.batch(writes)


async def ask(
    queue: NewestQueue, *asked: tuple[list[str], int]
) -> list["asyncio.Task[list[dict[str, Any]]]"]:
    """Searches that come one after the other, at once; all of them wait afterwards."""
    tasks = [asyncio.create_task(queue.find(names, limit)) for names, limit in asked]
    await asyncio.sleep(0)
    return tasks


def contents(memories: list[dict[str, Any]]) -> list[str]:
    return [memory["content"] for memory in memories]


async def test_searches_that_arrive_while_one_runs_share_the_next_statement(
    watched: Watched,
) -> None:
    tasks = await ask(NewestQueue(watched), *((SPACES[2:4], 20) for _ in range(8)))
    watched.released.set()
    found = await asyncio.gather(*tasks)
    assert watched.asked == [ALONE, 7]
    assert all(contents(memories) == contents(found[0]) for memories in found)
    assert len(found[0]) == 2 + 3


async def test_each_gets_its_own_answer_in_its_own_order(watched: Watched) -> None:
    asked = [
        ([SPACES[5]], 2),
        ([SPACES[1], SPACES[5]], 3),
        (["workspace:nowhere"], 20),
        ([SPACES[0]], 20),
        ([SPACES[2]], 20),
    ]
    queue = NewestQueue(watched)
    tasks = await ask(queue, ([SPACES[1]], 20), *asked)
    watched.released.set()
    together = [contents(await task) for task in tasks[1:]]
    assert watched.asked == [ALONE, 5]
    assert together[0] == ["5 of workspace:5", "4 of workspace:5"]
    assert together[2:] == [[], [], ["2 of workspace:2", "1 of workspace:2"]]
    alone = [contents(await queue.find(names, limit)) for names, limit in asked]
    assert together == alone


async def test_a_search_over_many_memories_neither_waits_nor_delays_others(
    watched: Watched,
) -> None:
    watched.released.set()
    queue = NewestQueue(watched)
    large = [f"custom:{number}" for number in range(1000)]
    await asyncio.gather(*await ask(queue, (large, 100), (SPACES, 20), (large, 100)))
    assert watched.asked == [ALONE] * 3


async def test_a_shared_statement_is_bounded(watched: Watched) -> None:
    tasks = await ask(NewestQueue(watched), *(([name], 100) for name in SPACES * 5))
    watched.released.set()
    await asyncio.gather(*tasks)
    assert watched.asked == [ALONE, 5, 5, 5, 5, 5, 4]


async def test_nobody_waits_for_a_late_statement(watched: Watched) -> None:
    late, *others = await ask(NewestQueue(watched), *((SPACES, 20) for _ in range(4)))
    await asyncio.wait_for(asyncio.gather(*others), 60)
    assert watched.asked == [ALONE, 3]
    assert not late.done()
    watched.released.set()
    assert len(await late) == 15


async def test_a_cancelled_search_does_not_affect_the_others(watched: Watched) -> None:
    first, gone, other = await ask(NewestQueue(watched), *((SPACES, 20) for _ in range(3)))
    gone.cancel()
    watched.released.set()
    assert len(await first) == len(await other) == 15
    assert watched.asked == [ALONE, 1]


async def test_all_who_share_fail_with_the_store_and_are_served_when_it_is_back(
    watched: Watched,
) -> None:
    queue = NewestQueue(watched)
    watched.released.set()
    async with watched.connection() as connection:
        await connection.execute("ALTER TABLE memory_records RENAME TO elsewhere")
    for task in await ask(queue, *((SPACES, 20) for _ in range(4))):
        with pytest.raises(StoreUnavailable):
            await task
    assert watched.asked == [ALONE, 3]
    async with watched.connection() as connection:
        await connection.execute("ALTER TABLE elsewhere RENAME TO memory_records")
    assert len(await queue.find(SPACES, 20)) == 15


async def test_a_row_that_cannot_be_read_fails_only_for_those_who_ask_for_it(
    watched: Watched,
) -> None:
    async with watched.connection() as connection:
        await connection.execute(
            "UPDATE memory_records SET created_at = '12026-01-01 00:00 UTC'"
            " WHERE content = '1 of workspace:1'"
        )
    watched.released.set()
    first, poisoned, other = await ask(
        NewestQueue(watched), ([SPACES[2]], 20), ([SPACES[1]], 20), ([SPACES[3]], 20)
    )
    assert len(await first) == 2
    assert len(await other) == 3
    with pytest.raises(OverflowError):
        await poisoned
