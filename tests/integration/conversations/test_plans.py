"""A page costs the same, however long the conversation and however deep the fork."""

import json
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

from conversations.drafts import user_draft
from conversations.fields import Fields
from conversations.places import arguments
from conversations.statements import SCHEMA, SESSION, load
from tests.conftest import database_url, execute

pytestmark = pytest.mark.anyio

LEVELS = 200
MESSAGES = 10_000
END = 2**31 - 1

# A trunk of 10,000 messages and a fork of a fork of a fork, 200 deep, each with 50 messages of its
# own before the next one leaves it. Every fourth message is an agent's.
FILL = """
INSERT INTO groups (id, owner_user_id) VALUES ('{group}', 'alice');
INSERT INTO memberships (group_id, user_id, level) VALUES ('{group}', 'alice', 4);
INSERT INTO conversations (
    id, group_id, owner_user_id, created_at, updated_at, last_at, forked_at_conversation_id,
    ancestor_ids, ancestor_from, ancestor_to, first_sequence, next_sequence
)
SELECT
    {key}, '{group}', 'alice', now(), now(), now(),
    CASE WHEN level > 0 THEN {parent} END,
    ARRAY(SELECT md5('plan' || n)::uuid FROM generate_series(0, level - 1) AS n),
    ARRAY(
        SELECT CASE WHEN n = 0 THEN 1 ELSE {messages} + (n - 1) * 50 END
        FROM generate_series(0, level - 1) AS n
    ),
    ARRAY(SELECT {messages} + n * 50 FROM generate_series(0, level - 1) AS n),
    CASE WHEN level = 0 THEN 1 ELSE {messages} + (level - 1) * 50 END,
    {messages} + level * 50 + 10
FROM generate_series(0, {levels}) AS level;

INSERT INTO messages (
    id, conversation_id, group_id, sequence, role, channel, visibility, content, is_list,
    agent_id, memory_epoch, created_at
)
SELECT
    gen_random_uuid(), {key}, '{group}', number, 'user',
    CASE WHEN number % 4 = 3 THEN 'MEMORY' ELSE 'HISTORY' END,
    CASE WHEN number % 4 = 3 THEN 'agent' ELSE 'user' END,
    'message ' || number, false,
    CASE WHEN number % 4 = 3 THEN 'bot' END,
    CASE WHEN number % 4 = 3 THEN 1 END,
    now()
FROM generate_series(0, {levels}) AS level
CROSS JOIN LATERAL generate_series(
    CASE WHEN level = 0 THEN 1 ELSE {messages} + (level - 1) * 50 END,
    {messages} + level * 50 + 9
) AS number;
ANALYZE;
"""


@pytest.fixture(scope="module")
def filled(cluster: str) -> Iterator[str]:
    name = f"paths_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    yield database_url(cluster, name)
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
async def connection(filled: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection as the service has it, to a database with deep forks."""
    connected = await asyncpg.connect(filled, server_settings=SESSION)
    await SCHEMA.migrate(connected)
    await connected.execute("SET search_path = memory_conversations; SET jit = off")
    values = {
        "group": uuid.uuid4(),
        "levels": LEVELS,
        "messages": MESSAGES,
        "key": "md5('plan' || level)::uuid",
        "parent": "md5('plan' || (level - 1))::uuid",
    }
    await connected.execute(FILL.format(**values))
    yield connected
    await connected.close()


async def key(connection: asyncpg.Connection, level: int) -> uuid.UUID:
    found: uuid.UUID = await connection.fetchval("SELECT md5('plan' || $1::text)::uuid", str(level))
    return found


async def rows_read(
    connection: asyncpg.Connection, name: str, *arguments: object, leave_out: str | None = None
) -> int:
    """The rows of messages that a statement reads; no table may be read as a whole."""
    explained = await connection.fetchval(
        f"EXPLAIN (ANALYZE, FORMAT JSON) {load(name, leave_out=leave_out)}", *arguments
    )
    return rows_in(json.loads(explained)[0]["Plan"], "messages")


def rows_in(plan: dict[str, Any], table: str) -> int:
    """The rows of a table that were read; it may not be read as a whole."""
    read = 0
    for node in nodes(plan):
        if node.get("Relation Name") == table and node["Node Type"] != "ModifyTable":
            assert "Index" in node["Node Type"] or "Bitmap" in node["Node Type"], node["Node Type"]
            removed = node.get("Rows Removed by Filter", 0)
            read += round((node["Actual Rows"] + removed) * node["Actual Loops"])
    return read


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A node of a plan and all below it."""
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def visible(number: int) -> bool:
    return number % 4 != 3


@pytest.mark.parametrize("level", [0, 1, 50, LEVELS])
async def test_the_last_page_reads_little_more_than_it_shows(
    connection: asyncpg.Connection, level: int
) -> None:
    conversation = await key(connection, level)
    page = (conversation, False, 0, END, 100)
    assert await rows_read(connection, "visible_page", *page) <= 110
    rows = await connection.fetch(load("visible_page"), *page)
    top = MESSAGES + level * 50 + 9
    expected = [number for number in range(top, 0, -1) if visible(number)][:100]
    assert [row["sequence"] for row in rows] == expected


@pytest.mark.parametrize("level", [0, 1, 50, LEVELS])
async def test_a_page_in_the_middle_reads_little_more_than_it_shows(
    connection: asyncpg.Connection, level: int
) -> None:
    conversation = await key(connection, level)
    after = MESSAGES + (level // 2) * 50 - 30
    page = (conversation, False, after, END, 60)
    assert await rows_read(connection, "visible_page", *page, leave_out="backward") <= 70
    rows = await connection.fetch(load("visible_page", leave_out="backward"), *page)
    top = MESSAGES + level * 50 + 9
    expected = [number for number in range(after + 1, top + 1) if visible(number)][:60]
    assert [row["sequence"] for row in rows] == expected
    # Each stretch of the path comes from the fork that it belongs to.
    homes = {row["sequence"]: row["conversation_id"] for row in rows}
    for number in expected:
        home = 0 if number < MESSAGES else (number - MESSAGES) // 50 + 1
        assert homes[number] == await key(connection, min(home, level))


@pytest.mark.parametrize("level", [0, 1, 50, LEVELS])
async def test_an_agents_context_reads_little_more_than_it_shows(
    connection: asyncpg.Connection, level: int
) -> None:
    conversation = await key(connection, level)
    page = (conversation, False, 0, 100, 0, "bot", 1, None, 0)
    assert await rows_read(connection, "context_page", *page) <= 220
    rows = await connection.fetch(load("context_page"), *page)
    top = MESSAGES + level * 50 + 9
    assert [row["sequence"] for row in rows] == list(range(top, top - 100, -1))


async def test_another_agents_memory_is_not_read(connection: asyncpg.Connection) -> None:
    page = (await key(connection, LEVELS), False, 0, 100, 0, "somebody else", 1, None, 0)
    assert await rows_read(connection, "context_page", *page) <= 110


async def test_a_message_is_found_on_the_path_by_its_id(connection: asyncpg.Connection) -> None:
    conversation = await key(connection, LEVELS)
    inherited = await connection.fetchval(
        "SELECT id FROM messages WHERE conversation_id = $1 AND sequence = 1",
        await key(connection, 0),
    )
    later = await connection.fetchval(
        "SELECT id FROM messages WHERE conversation_id = $1 AND sequence = $2",
        await key(connection, 0),
        MESSAGES + 5,
    )
    assert await rows_read(connection, "find_on_path", conversation, [inherited]) == 1
    found = await connection.fetch(load("find_on_path"), conversation, [inherited, later])
    assert [row["id"] for row in found] == [inherited]


async def test_a_fork_is_one_row_however_deep(connection: asyncpg.Connection) -> None:
    deepest = await key(connection, LEVELS)
    target = await connection.fetchrow(load("visible_page"), deepest, False, 0, MESSAGES + 5000, 1)
    assert target is not None
    async with connection.transaction():
        before = await connection.fetchval("SELECT count(*) FROM messages")
        made = await connection.fetchrow(
            load("fork_conversation"),
            uuid.uuid4(),
            deepest,
            target["conversation_id"],
            target["id"],
            target["sequence"],
            None,
            None,
            "",
            None,
        )
        assert made is not None
        assert await connection.fetchval("SELECT count(*) FROM messages") == before
        rows = await connection.fetch(load("visible_page"), made["id"], False, 0, END, 10)
        assert rows[0]["sequence"] < target["sequence"]


async def test_the_list_of_ones_own_is_read_in_the_order_of_its_index(
    connection: asyncpg.Connection,
) -> None:
    async with connection.transaction():
        await connection.execute(
            "INSERT INTO groups (id, owner_user_id)"
            " SELECT md5('list' || n)::uuid, 'carol' FROM generate_series(1, 10000) AS n;"
            "INSERT INTO memberships (group_id, user_id, level)"
            " SELECT md5('list' || n)::uuid, 'carol', 4 FROM generate_series(1, 10000) AS n;"
            "INSERT INTO conversations"
            " (id, group_id, owner_user_id, created_at, updated_at, last_at)"
            " SELECT md5('own' || n)::uuid, md5('list' || n)::uuid, 'carol', now(),"
            " now() - n * interval '1 s', now() FROM generate_series(1, 10000) AS n;"
            "ANALYZE conversations; ANALYZE memberships"
        )
        start = await connection.fetchval("SELECT 'infinity'::timestamptz")
        explained = await connection.fetchval(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {load('list_conversations')}",
            "carol",
            start,
            uuid.UUID(int=0),
            21,
            False,
            False,
            [],
        )
        text = json.dumps(json.loads(explained))
        assert "conversations_of_owner" in text
        assert '"Actual Rows": 10000' not in text


async def test_an_append_looks_up_each_member_by_index_however_few_there_are(
    connection: asyncpg.Connection,
) -> None:
    fields = Fields({"content": "Is it open on Sundays?"})
    appends = [
        (await key(connection, level), [user_draft(fields, "alice")], "alice")
        for level in range(10)
    ]
    async with connection.transaction():
        # A handful of members fills one page, which is cheap to read once and not for every row.
        await connection.execute(
            "INSERT INTO memberships (group_id, user_id, level)"
            " SELECT id, 'member ' || n, 2 FROM groups, generate_series(1, 100) AS n"
        )
        await connection.execute("ANALYZE memberships")
        explained = await connection.fetchval(
            f"EXPLAIN (FORMAT JSON) {load('append_messages')}", *arguments(appends)
        )
    scans = [
        node
        for node in nodes(json.loads(explained)[0]["Plan"])
        if node.get("Relation Name") in ("memberships", "conversations")
        and node["Node Type"] != "ModifyTable"
    ]
    assert scans
    assert all("Index Cond" in scan or "Recheck Cond" in scan for scan in scans)


async def test_an_append_writes_to_no_index_of_its_conversation(
    undone: asyncpg.Connection,
) -> None:
    place = await key(undone, 0)
    before = await changes(undone)
    for number in range(10):
        draft = user_draft(Fields({"content": f"message {number}"}), "alice")
        await undone.fetch(load("append_messages"), *arguments([(place, [draft], "alice")]))
    after = await changes(undone)
    assert after[0] - before[0] == 10
    # The first one may begin a minute, another may come after its end or find its page full.
    assert after[1] - before[1] >= 7


# Rows and pages of the outbox as PostgreSQL counted them last: never, or with nothing or one in it.
@pytest.mark.parametrize(("counted", "pages"), [(-1, 0), (0, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize(
    ("name", "types", "arguments"),
    [
        ("add_words", "integer, bigint", "100, 1000000"),
        ("take_outbox", "integer, integer", "100, 1000000"),
        ("done_outbox", "bigint[]", "'{{{ids}}}'"),
    ],
)
async def test_a_round_of_the_index_reads_what_it_takes_however_many_wait(
    undone: asyncpg.Connection, name: str, types: str, arguments: str, counted: int, pages: int
) -> None:
    await undone.execute(
        "UPDATE pg_class SET reltuples = $1, relpages = $2 WHERE oid = 'outbox'::regclass",
        counted,
        pages,
    )
    # Planned when nothing waits, as it mostly is, and used when much does.
    await undone.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    await undone.execute(f"PREPARE {name} ({types}) AS {load(name, leave_out='of-user')}")
    await undone.execute(f"EXECUTE {name} ({arguments.format(ids='0')})")
    waiting = await undone.fetch(
        "INSERT INTO outbox (action, group_id, message_id, has_words)"
        " SELECT 'write', group_id, id, $1 FROM messages WHERE channel = 'HISTORY' LIMIT 3000"
        " RETURNING id",
        name != "add_words",
    )
    ids = ",".join(str(row["id"]) for row in waiting[:100])
    explained = await undone.fetchval(
        f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {name} ({arguments.format(ids=ids)})"
    )
    await undone.execute(f"DEALLOCATE {name}")
    # Twice: to find them, and to mark them.
    assert 100 <= rows_in(json.loads(explained)[0]["Plan"], "outbox") <= 200


@pytest.fixture
async def undone(connection: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """The connection in a transaction that is rolled back."""
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await transaction.rollback()


async def changes(connection: asyncpg.Connection) -> tuple[int, int]:
    """How many conversations this transaction has changed, and how many of those in place."""
    row = await connection.fetchrow(
        "SELECT pg_stat_get_xact_tuples_updated('conversations'::regclass) AS updated,"
        " pg_stat_get_xact_tuples_hot_updated('conversations'::regclass) AS in_place"
    )
    assert row is not None
    return row["updated"], row["in_place"]
