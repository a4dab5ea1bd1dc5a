"""The plugin was down: once it is back it gets everything, in order, exactly once."""

import json
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from math import inf
from typing import Any

import asyncpg
import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from contract import EXTENSIONS, Breaker, Extension, MemoryClient
from conversations import embeddings
from conversations.index import Index
from conversations.settings import Settings
from conversations.statements import SCHEMA
from harness.example.app import ExamplePlugin
from harness.example.store import Store
from postgres.database import Database
from serving.background import background
from serving.metrics import Metrics
from tests import timeouts
from tests.conftest import database_url, execute
from tests.integration.language.scripted import scripted
from tests.waiting import SECONDS, eventually

pytestmark = pytest.mark.anyio

CONVERSATIONS = 40
WITHOUT_BATCH: list[Extension] = [name for name in EXTENSIONS if name != "batch"]

BACKLOG = """
WITH home AS (
    INSERT INTO groups (id, owner_user_id)
    SELECT gen_random_uuid(), 'alice' FROM generate_series(1, $1) RETURNING id
),
talk AS (
    INSERT INTO conversations (id, group_id, owner_user_id, created_at, updated_at, last_at)
    SELECT gen_random_uuid(), id, 'alice', now(), now(), now() FROM home RETURNING id, group_id
),
message AS (
    INSERT INTO messages (
        id, conversation_id, group_id, sequence, role, channel, visibility, content, is_list,
        created_at
    )
    SELECT
        gen_random_uuid(), talk.id, talk.group_id, number, 'user', 'HISTORY', 'user',
        number || ' ' || repeat('x', $3), false, now() + number * interval '1 second'
    FROM generate_series(1, $2) AS number
    CROSS JOIN talk
    RETURNING id, group_id, sequence
)
INSERT INTO outbox (action, group_id, message_id)
SELECT 'write', group_id, id FROM message ORDER BY sequence, group_id
"""


class Watched:
    """A plugin that records every write, and can be down or fail now and then."""

    def __init__(self, extensions: list[Extension]) -> None:
        self.plugin = ExamplePlugin(Store(), extensions=extensions)
        self.is_away = False
        self.refused = 0
        self.fails_every = 0
        self.takes_vectors = True
        self.writes: list[tuple[str, dict[str, Any]]] = []
        self.largest = 0
        self.batches = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        message = await receive()
        body = message["body"]
        while message.get("more_body"):
            message = await receive()
            body += message["body"]
        self.largest = max(self.largest, len(body))
        if self.is_away or self._fails():
            self.refused += 1
            await _refuse(503, "unavailable", send)
            return
        if not self.takes_vectors and b'"embedding":[' in body:
            await _refuse(400, "bad_request", send)
            return
        self._note(scope["path"], body)

        async def again() -> Message:
            return {"type": "http.request", "body": body}

        await self.plugin.app(scope, again, send)

    def _fails(self) -> bool:
        return bool(self.fails_every) and len(self.writes) % self.fails_every == 1

    def _note(self, path: str, body: bytes) -> None:
        if path.endswith("/batch"):
            self.batches += 1
            self.writes += [(it["namespace"], it) for it in json.loads(body)["writes"]]
        elif path.endswith("/memories"):
            self.writes.append((path.split("/")[3], json.loads(body)))

    @property
    def order(self) -> dict[str, list[int]]:
        """The numbers of the messages as they came, by namespace."""
        numbers: dict[str, list[int]] = {}
        for namespace, write in self.writes:
            numbers.setdefault(namespace, []).append(int(write["content"].partition(" ")[0]))
        return numbers


async def _refuse(status: int, code: str, send: Send) -> None:
    body = json.dumps({"code": code, "message": "embedding: not today"}).encode()
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def store(cluster: str) -> Iterator[str]:
    name = f"outbox_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    yield database_url(cluster, name)
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
async def connection(store: str) -> AsyncIterator[asyncpg.Connection]:
    connected = await asyncpg.connect(store)
    await SCHEMA.migrate(connected)
    await connected.execute(
        "SET search_path = memory_conversations; TRUNCATE outbox, messages, words"
    )
    yield connected
    await connected.close()


@pytest.fixture(autouse=True)
def _one_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder has all the time it needs; once it has failed, it is not asked again."""
    monkeypatch.setattr(embeddings, "_MESSAGES_SECONDS", SECONDS)
    monkeypatch.setattr(embeddings, "_REST_SECONDS", inf)


@asynccontextmanager
async def telling(
    store: str, watched: Watched, embed_url: str | None = None
) -> AsyncIterator[None]:
    """Send the outbox to the plugin, like a server."""
    settings = Settings(
        dev_auth=True,
        database_url=store,
        embed_url=embed_url,
        embed_model=embed_url and "some",
        **timeouts.LIMITS,
    )
    metrics = Metrics("outbox")
    database = Database(settings, name="test", search_path=SCHEMA.name)
    client = MemoryClient(
        "http://plugin",
        transport=httpx.ASGITransport(watched),
        breaker=Breaker(rest=0.5),
        timeout=SECONDS,
    )
    vectors = embeddings.Embeddings(settings, metrics)
    try:
        async with background(Index(database, client, vectors, metrics).run):
            yield
    finally:
        await vectors.aclose()
        await client.aclose()
        await database.close()


async def emptied(connection: asyncpg.Connection) -> None:
    async def is_empty() -> bool:
        return not await connection.fetchval("SELECT count(*) FROM outbox")

    await eventually(is_empty)


def in_order(watched: Watched, messages: int) -> bool:
    """Every conversation in order, each message once."""
    orders = watched.order
    return len(orders) == CONVERSATIONS and all(
        numbers == list(range(1, messages + 1)) for numbers in orders.values()
    )


@pytest.mark.parametrize(
    ("extensions", "messages"),
    [(list(EXTENSIONS), 200), (WITHOUT_BATCH, 25)],
    ids=["batch", "without batch"],
)
async def test_a_backlog_is_sent_in_order_once_the_plugin_is_back(
    connection: asyncpg.Connection, store: str, extensions: list[Extension], messages: int
) -> None:
    await connection.execute(BACKLOG, CONVERSATIONS, messages, 10)
    watched = Watched(extensions)
    watched.is_away = True
    async with telling(store, watched):
        await eventually(lambda: _refused(watched, 5))
        watched.is_away = False
        await emptied(connection)
    assert in_order(watched, messages)
    assert (watched.batches > 0) == ("batch" in extensions)


async def _refused(watched: Watched, times: int) -> bool:
    return watched.refused >= times


async def test_a_plugin_that_fails_now_and_then_gets_everything(
    connection: asyncpg.Connection, store: str
) -> None:
    """Without `batch`, and failing before a round is through: what was told counts."""
    await connection.execute(BACKLOG, CONVERSATIONS, 10, 10)
    watched = Watched(WITHOUT_BATCH)
    watched.fails_every = 50
    async with telling(store, watched):
        await eventually(lambda: _refused(watched, 3))
        watched.fails_every = 0
        await emptied(connection)
    for numbers in watched.order.values():
        assert sorted(set(numbers)) == list(range(1, 11))
        # Told twice after a failure, never in another order.
        assert list(dict.fromkeys(numbers)) == list(range(1, 11))


async def test_long_messages_come_in_small_requests(
    connection: asyncpg.Connection, store: str
) -> None:
    await connection.execute(BACKLOG, 1, 100, 100_000)
    watched = Watched(list(EXTENSIONS))
    async with telling(store, watched):
        await emptied(connection)
    [numbers] = watched.order.values()
    assert numbers == list(range(1, 101))
    assert watched.largest < 4 * 1024 * 1024


def vectors(body: Any) -> object:
    return {"data": [{"embedding": [float(len(text)), 1.0]} for text in body["input"]]}


async def test_messages_get_vectors(connection: asyncpg.Connection, store: str) -> None:
    await connection.execute(BACKLOG, CONVERSATIONS, 5, 10)
    watched = Watched(list(EXTENSIONS))
    with scripted(vectors) as embedder:
        async with telling(store, watched, embedder.url):
            await emptied(connection)
    assert in_order(watched, 5)
    for _, write in watched.writes:
        assert write["embedding"] == [float(len(write["content"])), 1.0]


async def test_an_embedder_that_fails_holds_nothing_up(
    connection: asyncpg.Connection, store: str
) -> None:
    await connection.execute(BACKLOG, CONVERSATIONS, 50, 10)
    watched = Watched(list(EXTENSIONS))
    with scripted(lambda _: (500, b"{}")) as embedder:
        async with telling(store, watched, embedder.url):
            await emptied(connection)
        assert in_order(watched, 50)
        assert not any("embedding" in write for _, write in watched.writes)
        # It gets no requests for a while, instead of one in every round.
        assert len(embedder.asked) < 4


async def test_a_plugin_that_takes_no_such_vectors_gets_the_words(
    connection: asyncpg.Connection, store: str
) -> None:
    await connection.execute(BACKLOG, CONVERSATIONS, 5, 10)
    watched = Watched(list(EXTENSIONS))
    watched.takes_vectors = False
    with scripted(vectors) as embedder:
        async with telling(store, watched, embedder.url):
            await emptied(connection)
    assert in_order(watched, 5)
