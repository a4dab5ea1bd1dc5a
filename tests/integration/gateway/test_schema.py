"""The messages of a session go with it, and a database in use can be migrated to that."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest

from gateway.schema import SCHEMA
from tests.integration.gateway.people import Person, message
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

Connect = Callable[[str], Awaitable[asyncpg.Connection]]


@pytest.fixture
async def connections() -> AsyncIterator[Connect]:
    opened: list[asyncpg.Connection] = []

    async def connect(url: str) -> asyncpg.Connection:
        opened.append(await asyncpg.connect(url, server_settings={"search_path": SCHEMA.name}))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.terminate()


async def _waits(connection: asyncpg.Connection, waiting: asyncpg.Connection) -> bool:
    """Whether the second connection waits for a lock, as the first one sees it."""
    asked = "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)"
    found: bool = await connection.fetchval(asked, waiting.get_server_pid())
    return found


async def test_a_deletion_takes_the_messages_that_were_being_added(
    ann: Person, store: str, connections: Connect
) -> None:
    await ann.add("chat:busy", message("tea"))
    adding, deleting, watching = [await connections(store) for _ in range(3)]
    session = await watching.fetchval("SELECT id FROM sessions WHERE name = 'chat:busy'")
    # As an add does it: it locks the session, and its messages are not committed yet.
    await adding.execute("BEGIN")
    await adding.execute("UPDATE sessions SET last_message_at = now() WHERE id = $1", session)
    await adding.execute(
        "INSERT INTO messages (session, digest, role, sender_id, sent_at, content)"
        " VALUES ($1, 'x', 'user', 'ann', now(), 'coffee')",
        session,
    )
    deletion = asyncio.create_task(deleting.execute("DELETE FROM sessions WHERE id = $1", session))
    await eventually(lambda: _waits(watching, deleting))
    await adding.execute("COMMIT")
    await deletion
    left = await watching.fetchval("SELECT count(*) FROM messages WHERE session = $1", session)
    assert left == 0


@pytest.mark.parametrize("tables", [("sessions", "messages"), ("messages", "sessions")])
async def test_a_migration_and_what_runs_beside_it_do_not_block_each_other(
    database: str,
    tables: tuple[str, str],
    connections: Connect,
) -> None:
    migrating, working, watching = [await connections(database) for _ in range(3)]
    await SCHEMA.migrate(migrating, SCHEMA.migrations[:3])
    await working.execute(f"BEGIN; LOCK TABLE {tables[0]} IN ROW EXCLUSIVE MODE")
    migration = asyncio.create_task(SCHEMA.migrate(migrating, SCHEMA.migrations[:4]))
    await eventually(lambda: _waits(watching, migrating))
    await working.execute(f"LOCK TABLE {tables[1]} IN ROW EXCLUSIVE MODE; COMMIT")
    assert [file.name for file in await migration][:1] == ["messages_of_a_session"]
