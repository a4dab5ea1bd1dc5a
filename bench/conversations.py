"""Conversations: appends, contexts of long and forked paths, lists, searches and followers."""

import asyncio
import json
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import httpx

from bench import pgbench
from bench.load import get, post, send
from bench.measure import Measure, Sample
from bench.stage import Stage, connection

CONNECTIONS = 32
CONVERSATIONS = 200
_REQUESTS = 2_000
_KEY = "bench-key"
_ALICE = {"authorization": "Bearer alice"}
_AGENT = {"x_api_key": _KEY}
_TEXT = "The user asked number {} about the plan for tomorrow and the trip to rome"
_SINGLE = """\\set place random(0, 199)
\\set number random(1, 100000000)
INSERT INTO memory_conversations.bench_rows (conversation_id, role, content)
VALUES (
    md5(:place)::uuid, 'user',
    'The user asked number ' || :number || ' about the plan for tomorrow and the trip to rome'
);
"""
_ROWS = """
CREATE TABLE memory_conversations.bench_rows (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    conversation_id uuid NOT NULL,
    role text NOT NULL,
    content text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON memory_conversations.bench_rows (conversation_id, created_at);
"""
# Groups of one conversation each, with messages.
_FILL = """
WITH room AS (
    INSERT INTO memory_conversations.groups (id, owner_user_id)
    -- As the server makes them: those of one owner begin alike.
    SELECT overlay(gen_random_uuid()::text PLACING left(md5($1), 8) FROM 1 FOR 8)::uuid, $1
    FROM generate_series(1, $2) RETURNING id
),
member AS (
    INSERT INTO memory_conversations.memberships (group_id, user_id, level)
    SELECT id, $1, 4 FROM room
)
INSERT INTO memory_conversations.conversations (
    id, group_id, owner_user_id, title, created_at, updated_at, last_at, next_sequence
)
SELECT
    gen_random_uuid(), id, $1, 'A conversation', now(), now() - random() * interval '1 day', now(),
    $3 + 1
FROM room
RETURNING id
"""
# Conversations are about different things, like a person's: each has one of 300 places, each
# message one of 1,000 topics. A search for a place and a topic matches a few of them, and with
# "about" it has a word of all, like a question in plain English.
_MESSAGES = """
INSERT INTO memory_conversations.messages (
    id, conversation_id, group_id, sequence, role, channel, visibility, content, is_list,
    agent_id, created_at
)
SELECT
    gen_random_uuid(), conversation.id, conversation.group_id, n,
    CASE n % 2 WHEN 1 THEN 'user' ELSE 'assistant' END, 'HISTORY', 'user',
    'message number ' || n || ' about place' || abs(hashtext(conversation.id::text)) % 300
        || ' and topic' || abs(hashtext(conversation.id::text || n)) % 1000,
    false, CASE n % 2 WHEN 0 THEN 'bench' END, now()
FROM memory_conversations.conversations AS conversation
CROSS JOIN generate_series(1, $2) AS n
WHERE conversation.id = ANY($1::uuid[])
"""
_OUTBOX = """
INSERT INTO memory_conversations.outbox (action, group_id, message_id)
SELECT 'write', group_id, id FROM memory_conversations.messages
WHERE conversation_id = ANY($1::uuid[])
"""


@contextmanager
def _served(stage: Stage, name: str) -> Iterator[tuple[str, str]]:
    """A server with its child plugin on its own database: the two URLs."""
    with (
        stage.database(name, migrated=False) as database,
        stage.server(
            "memory-conversations",
            "--dev-auth",
            "--database-url",
            database,
            "--data-dir",
            str(stage.folder / name),
            environment={"MEMORY_CONVERSATIONS_AGENT_KEYS": f"bench={_KEY}"},
        ) as server,
    ):
        yield server, database


def appends(stage: Stage) -> Iterator[Measure]:
    with _served(stage, "appends") as (server, database):
        ids = asyncio.run(_conversations(database, "alice", CONVERSATIONS, 0))
        asyncio.run(_execute(database, _ROWS))
        spread = [_append(ids[number % CONVERSATIONS], number) for number in range(_REQUESTS)]
        single = [_append(ids[0], number) for number in range(_REQUESTS)]

        def over(requests: list[str]) -> Sample:
            _rest(database)
            return send(server, requests, connections=CONNECTIONS, seconds=stage.seconds)

        def insert() -> Sample:
            _rest(database)
            return pgbench.run(database, _SINGLE, connections=CONNECTIONS, seconds=stage.seconds)

        over(spread)
        yield Measure(
            name="append",
            title=f"append of one message, 32 connections, {CONVERSATIONS} conversations",
            unit="messages/s",
            contestants={"conversations": lambda: over(spread), "pgbench": insert},
            must=0.5,
            aim=0.9,
        )
        yield Measure(
            name="append_one",
            title="append to one conversation by 32 writers, compared with 200 conversations",
            unit="messages/s",
            contestants={"one": lambda: over(single), "200": lambda: over(spread)},
            must=0.3,
            aim=0.7,
        )


def reading(stage: Stage) -> Iterator[Measure]:
    with _served(stage, "reading") as (server, database):
        [short] = asyncio.run(_conversations(database, "alice", 1, 100))
        [long] = asyncio.run(_conversations(database, "alice", 1, stage.scale(100_000)))
        deepest = asyncio.run(_forked(server, database, 50))
        query = "?tail=true&limit=100"

        def context(conversation: UUID) -> Sample:
            path = f"/v1/agent/conversations/{conversation}/context{query}"
            return _latency(server, get(path, **_AGENT), stage.seconds)

        for name, title, conversation, must, aim in (
            ("context", "agent context, last 100 of 100,000 messages", long, 1.5, 1.1),
            ("context_forks", "agent context at the end of 50 forks", deepest, 3.0, 1.5),
        ):
            yield Measure(
                name=name,
                title=f"{title}, p50, compared with 100 messages",
                unit="ms",
                contestants={
                    "this": lambda conversation=conversation: context(conversation),  # type: ignore[misc]
                    "100 messages": lambda: context(short),
                },
                better="lower",
                at_most=True,
                must=must,
                aim=aim,
            )


def listing(stage: Stage) -> Iterator[Measure]:
    with _served(stage, "listing") as (server, database):
        asyncio.run(_conversations(database, "few", 100, 0))
        asyncio.run(_conversations(database, "many", stage.scale(10_000), 0))

        def page(user: str) -> Sample:
            request = get("/v1/user/conversations", authorization=f"Bearer {user}")
            return _latency(server, request, stage.seconds)

        yield Measure(
            name="list",
            title="list of conversations, user with 10,000, p50, compared with 100",
            unit="ms",
            contestants={"10,000": lambda: page("many"), "100": lambda: page("few")},
            better="lower",
            at_most=True,
            must=1.5,
            aim=1.1,
        )


def searching(stage: Stage) -> Iterator[Measure]:
    with _served(stage, "searching") as (server, database):
        for user, count in (("few", 20), ("many", stage.scale(2_000))):
            ids = asyncio.run(_conversations(database, user, count, 10))
            asyncio.run(_execute(database, _OUTBOX, ids))
        asyncio.run(_indexed(database))

        def search(user: str) -> Sample:
            body = {"query": "about place7 and topic42"}
            headers = {"authorization": f"Bearer {user}"}
            request = post("/v1/user/search/messages", body, **headers)
            return _latency(server, request, stage.seconds)

        yield Measure(
            name="search",
            title="search over 2,000 visible conversations, p50, compared with 20",
            unit="ms",
            contestants={"2,000": lambda: search("many"), "20": lambda: search("few")},
            better="lower",
            at_most=True,
            must=3.0,
            aim=1.5,
        )


def following(stage: Stage) -> Iterator[Measure]:
    with _served(stage, "following") as (server, database):
        [conversation] = asyncio.run(_conversations(database, "alice", 1, 1))
        seconds = max(2.0, stage.seconds)
        yield Measure(
            name="follow",
            title="100 followers, 200 appends/s: p99 from append to receipt",
            unit="ms",
            contestants={
                "p99": lambda: asyncio.run(_follow(server, conversation, 100, 200, seconds))
            },
            better="lower",
            at_most=True,
            must=500,
            aim=100,
        )


def _rest(database: str) -> None:
    """Wait until the index has caught up: otherwise the other contestant would pay for it."""
    asyncio.run(_indexed(database))


def _append(conversation: UUID, number: int) -> str:
    path = f"/v1/user/conversations/{conversation}/messages"
    return post(path, {"content": _TEXT.format(number)}, **_ALICE)


def _latency(server: str, request: str, seconds: float) -> Sample:
    """The median time of sequential requests."""
    sample = send(server, [request], connections=1, seconds=seconds)
    return Sample(sample.details["p50"], sample.details)


async def _execute(database: str, statement: str, *arguments: object) -> None:
    async with connection(database) as opened:
        await opened.execute(statement, *arguments)


async def _conversations(database: str, user: str, count: int, messages: int) -> list[UUID]:
    async with connection(database) as opened:
        rows = await opened.fetch(_FILL, user, count, messages)
        ids = [row["id"] for row in rows]
        if messages:
            await opened.execute(_MESSAGES, ids, messages)
        await opened.execute("ANALYZE")
    return ids


async def _forked(server: str, database: str, depth: int) -> UUID:
    """The last in a chain of forks, each with twenty messages of its own before the next."""
    [current] = await _conversations(database, "alice", 1, 100)
    generator = random.Random(4)
    async with httpx.AsyncClient(base_url=server, headers=_ALICE, timeout=60) as client:
        for _ in range(depth):
            path = f"/v1/user/conversations/{current}"
            page = (await client.get(f"{path}/messages?tail=true&limit=10")).json()["data"]
            users = [message["id"] for message in page if message["role"] == "user"]
            body = {"newMessage": {"content": "another way"}}
            target = generator.choice(users)
            made = await client.post(f"{path}/messages/{target}/fork", json=body)
            current = UUID(made.json()["id"])
            for number in range(20):
                content = {"content": _TEXT.format(number)}
                await client.post(f"/v1/user/conversations/{current}/messages", json=content)
    return current


async def _indexed(database: str) -> None:
    async with connection(database) as opened:
        waiting = "SELECT count(*) FROM memory_conversations.outbox"
        while await opened.fetchval(waiting):  # noqa: ASYNC110 - another process empties it
            await asyncio.sleep(0.2)
        await opened.execute("ANALYZE")


async def _follow(
    server: str, conversation: UUID, followers: int, rate: int, seconds: float
) -> Sample:
    """Append at a steady rate, and record when each follower gets each character."""
    limits = httpx.Limits(max_connections=followers + 20)
    agent = f"/v1/agent/conversations/{conversation}"
    sent: list[float] = []
    lags: list[float] = []
    ready = asyncio.Semaphore(0)
    async with httpx.AsyncClient(base_url=server, timeout=60, limits=limits) as client:
        keyed = {"x-api-key": _KEY}
        made = await client.post(f"{agent}/response", json={}, headers=keyed)
        key = made.json()["recordingId"]

        async def follow() -> None:
            seen = 0
            path = f"/v1/user/conversations/{conversation}/response"
            async with client.stream("GET", path, headers=_ALICE) as answer:
                async for line in answer.aiter_lines():
                    if line == "event: start":
                        ready.release()
                    elif line.startswith('data: {"content"'):
                        now = time.perf_counter()
                        end = json.loads(line[6:])["offset"]
                        lags.extend(now - sent[number] for number in range(seen, end))
                        seen = end

        tasks = [asyncio.create_task(follow()) for _ in range(followers)]
        for _ in tasks:
            await ready.acquire()
        began = time.perf_counter()
        for number in range(round(rate * seconds)):
            await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
            sent.append(time.perf_counter())
            body = {"content": "x"}
            await client.post(f"{agent}/response/{key}", json=body, headers=keyed)
        spent = time.perf_counter() - began
        await client.post(f"{agent}/response/{key}", json={"complete": True}, headers=keyed)
        await asyncio.gather(*tasks)
    cuts = statistics.quantiles(lags, n=100)
    details = {"p50": cuts[49] * 1000, "appends_per_s": len(sent) / spent}
    return Sample(cuts[98] * 1000, details)
