"""New words are merged into their index in the background."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from contract import MemoryClient, MemoryWrite, NamespaceUpsert, SearchRequest
from plugin_postgres.database import Database
from plugin_postgres.pending import PendingList
from plugin_postgres.schema import SCHEMA
from plugin_postgres.settings import Settings
from tests import timeouts
from tests.integration.plugin_postgres import plugin
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

MUCH = 4 * 1024 * 1024
INSERT = """
    INSERT INTO memory_plugin.memory_namespaces (name, kind) VALUES ('team:a', 'team')
    ON CONFLICT DO NOTHING;
    INSERT INTO memory_plugin.memory_records (namespace, content, kind, source)
    SELECT 'team:a', 'a lighthouse with the number ' || number, 'fact', 'agent'
    FROM generate_series(1, 100) AS number
"""
HAS_SORTED_IN = """
    SELECT EXISTS (
        SELECT FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND datname = current_database()
            AND query LIKE '%gin_clean_pending_list%'
    )
"""


class Stepped(PendingList):
    """A pending list with a clock that the test controls; rounds are only counted."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.rounds = 0
        self.ahead: asyncio.Queue[None] = asyncio.Queue()

    async def _step(self) -> None:
        await self.ahead.get()
        self.ahead.task_done()

    async def sort_in(self) -> int:
        self.rounds += 1
        return 0

    async def rounds_after(self, steps: int) -> int:
        """How many rounds there have been after this many more steps."""
        for _ in range(steps):
            self.ahead.put_nowait(None)
            await self.ahead.join()
        return self.rounds


@pytest.fixture
async def pending(migrated: str) -> AsyncIterator[PendingList]:
    database = Database(Settings(database_url=migrated, **timeouts.LIMITS))
    await database.open()
    yield PendingList(database)
    await database.close()


@pytest.fixture
async def stepped(migrated: str) -> AsyncIterator[Stepped]:
    stepped = Stepped(Database(Settings(database_url=migrated, **timeouts.LIMITS)))
    running = asyncio.create_task(stepped.run())
    yield stepped
    running.cancel()


async def test_what_was_written_is_merged_once(pending: PendingList, migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    await connection.execute(INSERT)
    assert await pending.sort_in() > 0
    assert await pending.sort_in() == 0
    await connection.close()


async def test_the_index_of_families_is_merged_too(pending: PendingList, migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    await connection.execute(INSERT)
    only_words = await pending.sort_in()
    await connection.execute(
        INSERT.replace("team:a", "custom:a:familyone:1").replace("'team')", "'custom')")
    )
    assert await pending.sort_in() > only_words
    assert await pending.sort_in() == 0
    await connection.close()


async def test_one_worker_merges_at_a_time(pending: PendingList, migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    await connection.execute(INSERT)
    await connection.execute("SELECT pg_advisory_lock($1)", SCHEMA.lock("pending"))
    assert await pending.sort_in() == 0
    await connection.execute("SELECT pg_advisory_unlock($1)", SCHEMA.lock("pending"))
    assert await pending.sort_in() > 0
    await connection.close()


async def test_a_role_that_does_not_own_the_index_leaves_it_alone(migrated: str) -> None:
    admin = await asyncpg.connect(migrated)
    await admin.execute(INSERT)
    await admin.execute("CREATE ROLE only_serves LOGIN")
    await admin.execute("GRANT USAGE ON SCHEMA memory_plugin TO only_serves")
    await admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA memory_plugin TO only_serves")
    database = Database(
        Settings(database_url=migrated.replace("postgres@", "only_serves@", 1), **timeouts.LIMITS)
    )
    try:
        assert await PendingList(database).sort_in() == 0
    finally:
        await database.close()
        await admin.execute("DROP OWNED BY only_serves")
        await admin.execute("DROP ROLE only_serves")
        await admin.close()


async def test_nothing_happens_while_nothing_is_written_or_searched(stepped: Stepped) -> None:
    stepped.ahead.put_nowait(None)
    for _ in range(10):
        await asyncio.sleep(0)
    assert stepped.ahead.qsize() == 1
    assert stepped.rounds == 0


async def test_a_search_triggers_a_merge_after_one_step(stepped: Stepped) -> None:
    stepped.wrote(1)
    stepped.searched()
    assert await stepped.rounds_after(1) == 1


async def test_a_pause_triggers_a_merge(stepped: Stepped) -> None:
    stepped.wrote(1)
    assert await stepped.rounds_after(3) == 0
    assert await stepped.rounds_after(1) == 1


async def test_steady_writing_delays_the_merge_until_the_list_is_long(stepped: Stepped) -> None:
    for _ in range(10):
        stepped.wrote(MUCH // 20)
        assert await stepped.rounds_after(1) == 0
    stepped.wrote(MUCH)
    assert await stepped.rounds_after(1) == 1


async def test_words_in_the_pending_list_are_found(client: MemoryClient) -> None:
    await client.put_namespace("team:a", NamespaceUpsert(kind="team"))
    await client.write("team:a", MemoryWrite(content="a lighthouse", kind="fact", source="agent"))
    found = await client.search(SearchRequest(namespaces=["team:a"], query="lighthouse"))
    assert [memory.content for memory in found.memories] == ["a lighthouse"]


async def test_the_plugin_merges_what_it_has_written(migrated: str) -> None:
    watcher = await asyncpg.connect(migrated)
    async with plugin.memory_client(migrated) as client:
        await client.put_namespace("team:a", NamespaceUpsert(kind="team"))
        await client.write(
            "team:a", MemoryWrite(content="a lighthouse", kind="fact", source="agent")
        )
        await eventually(lambda: watcher.fetchval(HAS_SORTED_IN))
    await watcher.close()
