"""The gateway: adds, searches in few and many sessions, a whole turn, and mem0 for comparison."""

import asyncio
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.util import find_spec
from itertools import count
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx

from bench import pgbench, resident
from bench.load import LoadFailed, post, send
from bench.measure import Measure, Sample
from bench.stage import Stage, connection
from bench.texts import make_texts
from contract import BatchFailure, BatchWrite, MemoryClient, NamespaceUpsert
from gateway.names import SessionName, chat

CONNECTIONS = 32
_USERS = 20
_CHATS = 10
_ADDS = 20_000
_MEMORIES = 1_000
_FEW, _MANY, _TURNS = 20, 2_000, 20
_TOP_K = 8
_MEM0_TURNS = 500
_PLACE = {"app_id": "default", "project_id": "default"}

_SINGLE = """\\set place random(0, 199)
\\set number random(1, 100000000)
INSERT INTO memory_gateway.bench_rows (session, role, sender_id, sent_at, content)
VALUES (
    :place, 'user', 'bench', now(),
    'Number ' || :number || ' asked about the plan for tomorrow and the trip to rome by train'
);
"""
_ROWS = """
CREATE TABLE memory_gateway.bench_rows (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    session bigint NOT NULL,
    role text NOT NULL,
    sender_id text NOT NULL,
    sent_at timestamptz NOT NULL,
    content text NOT NULL
);
CREATE INDEX ON memory_gateway.bench_rows (session, sent_at);
"""
_SESSIONS = """
INSERT INTO memory_gateway.sessions (owner, app_id, project_id, name, namespace, is_stored)
SELECT users.id, 'default', 'default', asked.name, asked.namespace, true
FROM memory_gateway.users
CROSS JOIN unnest($2::text[], $3::text[]) AS asked (name, namespace)
WHERE users.user_id = $1
"""
_MEMORY_ROWS = """
INSERT INTO memory_gateway.memories (id, session, batch, position, type, created_at, extra)
SELECT
    made.id, sessions.id, gen_random_uuid(), 0, 'turn', made.created_at,
    '{"sender_ids": ["bench", "agent"]}'
FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS made (id, namespace, created_at)
JOIN memory_gateway.sessions USING (namespace)
"""


@dataclass(frozen=True)
class _User:
    user_id: str
    user_key: str

    def call(self, operation: str, **fields: Any) -> str:
        who = {"user_id": self.user_id, "user_key": self.user_key}
        return post(f"/memories/{operation}", {**who, **_PLACE, **fields})


class _Texts:
    """What people and assistants say, and later questions about it."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._said, self._answered, self._asked = map(make_texts, (14, 26, 6))
        self._clock = count(1_700_000_000_000)

    def messages(self, turns: int = 1) -> list[dict[str, Any]]:
        """Never the same twice, because each has its own time."""
        return [
            {
                "sender_id": "bench" if role == "user" else "agent",
                "role": role,
                "timestamp": next(self._clock),
                "content": self._random.choice(texts),
            }
            for _ in range(turns)
            for role, texts in (("user", self._said), ("assistant", self._answered))
        ]

    def turn(self) -> str:
        said, answered = (it["content"] for it in self.messages())
        return f"User: {said}\nAssistant: {answered}"

    def queries(self, number: int) -> list[str]:
        return self._random.sample(self._asked, number)


def measures(stage: Stage) -> Iterator[Measure]:
    """All on one gateway and one plugin, which is also called directly."""
    with (
        stage.database("gateway") as database,
        stage.plugin(database) as plugin,
        stage.server(
            "memory-gateway",
            "--database-url",
            database,
            "--plugin-url",
            plugin,
            health="/health",
        ) as gateway,
    ):
        texts = _Texts()
        asyncio.run(_execute(database, _ROWS))
        users = [_sign_up(gateway, f"bench{number}") for number in range(_USERS)]
        yield _add(stage, gateway, database, users, texts)
        yield _turn(stage, gateway, plugin, users[0], texts)
        yield from _search(stage, gateway, plugin, database, texts)
        yield from _all_memory(stage, gateway, plugin, database, texts)
        yield from _mem0(stage, gateway, users, texts)
    yield from resident.of_worker(stage, "memory-gateway", "gateway_resident", "gateway", aim=90)


def _add(stage: Stage, gateway: str, database: str, users: list[_User], texts: _Texts) -> Measure:
    def ours() -> Sample:
        requests = _adds(users, texts, stage.scale(_ADDS))
        return send(gateway, requests, connections=CONNECTIONS, seconds=stage.seconds)

    ours()
    return Measure(
        name="gateway_add",
        title=f"add of two messages, {CONNECTIONS} connections, compared with single-row inserts",
        unit="requests/s",
        contestants={
            "gateway": ours,
            "pgbench": lambda: pgbench.run(
                database, _SINGLE, connections=CONNECTIONS, seconds=stage.seconds
            ),
        },
        must=0.5,
        aim=0.9,
    )


def _turn(stage: Stage, gateway: str, plugin: str, user: _User, texts: _Texts) -> Measure:
    """A continuing chat: the cost of remembering one more turn."""
    session = chat("turns")
    namespace = "workspace:turns"
    asyncio.run(_make(plugin, namespace))

    def ours() -> Sample:
        def turn() -> list[str]:
            add = user.call("add", session_id=session, messages=texts.messages())
            return [add, user.call("flush", session_id=session)]

        return _one_by_one(gateway, turn, stage.seconds)

    def theirs() -> Sample:
        def writes() -> list[str]:
            path = f"/v1/namespaces/{namespace}/memories"
            return [
                post(path, {"content": it["content"], "kind": "fact", "source": "user"})
                for it in texts.messages()
            ]

        return _one_by_one(plugin, writes, stage.seconds)

    return Measure(
        name="gateway_turn",
        title="add + flush of a turn, p50, compared with two writes to the plugin",
        unit="ms",
        contestants={"gateway": ours, "plugin": theirs},
        better="lower",
        must=2.5,
        aim=1.5,
        at_most=True,
    )


def _search(
    stage: Stage, gateway: str, plugin: str, database: str, texts: _Texts
) -> Iterator[Measure]:
    user = _sign_up(gateway, "one-chat")
    rows = stage.scale(_MEMORIES)
    [namespace] = asyncio.run(_fill(plugin, database, user, texts, sessions=1, turns=rows))
    queries = texts.queries(500)
    where = {"conversation_id": "0", "scope": ["current_chat"], "top_k": _TOP_K}
    asked = [user.call("search", query=it, **where) for it in queries]
    directly = [
        post("/v1/search", {"namespaces": [namespace], "query": it, "limit": _TOP_K})
        for it in queries
    ]

    def search(url: str, requests: list[str]) -> Sample:
        return send(url, requests, connections=CONNECTIONS, seconds=stage.seconds)

    yield Measure(
        name="gateway_search",
        title=f"search in one chat with {rows:,} memories, compared with the plugin itself",
        unit="searches/s",
        contestants={
            "gateway": partial(search, gateway, asked),
            "plugin": partial(search, plugin, directly),
        },
        must=0.6,
        aim=0.85,
    )


def _all_memory(
    stage: Stage, gateway: str, plugin: str, database: str, texts: _Texts
) -> Iterator[Measure]:
    many = stage.scale(_MANY)
    queries = texts.queries(200)

    def prepared(sessions: int) -> list[str]:
        user = _sign_up(gateway, f"sessions{sessions}")
        asyncio.run(_fill(plugin, database, user, texts, sessions=sessions, turns=_TURNS))
        where = {"scope": ["all_user_memory"], "top_k": _TOP_K}
        return [user.call("search", query=it, **where) for it in queries]

    def p50(requests: list[str]) -> Sample:
        sample = send(gateway, requests, connections=1, seconds=stage.seconds)
        return Sample(sample.details["p50"], sample.details)

    yield Measure(
        name="gateway_all_memory",
        title=f"search of all_user_memory, p50, user with {many:,} sessions of {_TURNS} turns"
        f", compared with {_FEW} sessions",
        unit="ms",
        contestants={
            f"{sessions:,} sessions": partial(p50, prepared(sessions)) for sessions in (many, _FEW)
        },
        better="lower",
        must=3.0,
        aim=1.5,
        at_most=True,
    )


def _mem0(stage: Stage, gateway: str, users: list[_User], texts: _Texts) -> Iterator[Measure]:
    """The same turns in both."""
    user = _sign_up(gateway, "mem0")
    turns = [texts.messages() for _ in range(stage.scale(_MEM0_TURNS))]
    asyncio.run(_say(gateway, user, turns))
    queries = texts.queries(200)
    searches = [
        user.call("search", query=it, conversation_id="same", scope=["current_chat"], top_k=_TOP_K)
        for it in queries
    ]
    said = [[{"role": it["role"], "content": it["content"]} for it in turn] for turn in turns]
    with _mem0_process(stage) as theirs:
        theirs(work="add", items=said)

        def add() -> Sample:
            requests = _adds(users, texts, stage.scale(_ADDS))
            return send(gateway, requests, connections=CONNECTIONS, seconds=stage.seconds)

        def remember() -> Sample:
            requests = _adds_and_flushes(users, texts, stage.scale(_ADDS) // 2)
            sample = send(gateway, requests, connections=CONNECTIONS, seconds=stage.seconds)
            return Sample(sample.value / 2, sample.details)

        def their_add() -> Sample:
            return theirs(work="add", items=said, seconds=stage.seconds)

        yield Measure(
            name="gateway_mem0_search",
            title=f"search among {len(turns):,} turns, compared with mem0",
            unit="searches/s",
            contestants={
                "gateway": lambda: send(
                    gateway, searches, connections=CONNECTIONS, seconds=stage.seconds
                ),
                "mem0": lambda: theirs(work="search", items=queries, seconds=stage.seconds),
            },
            must=10,
            aim=30,
            note="mem0 runs in the client process, with Qdrant, without HTTP",
        )
        yield Measure(
            name="gateway_mem0_add",
            title="add of a turn, compared with mem0's add",
            unit="turns/s",
            contestants={"gateway": add, "mem0": their_add},
            must=10,
            aim=30,
            note="mem0 with infer=False and an embedder that costs nothing; its turn is searchable"
            " at once, while ours is durable and becomes searchable with a flush",
        )
        yield Measure(
            name="gateway_mem0_flush",
            title="add + flush of a turn, searchable afterwards, compared with mem0's add",
            unit="turns/s",
            contestants={"gateway": remember, "mem0": their_add},
        )


def _adds(users: list[_User], texts: _Texts, turns: int) -> list[str]:
    return [
        users[number % _USERS].call(
            "add", session_id=chat(f"add{number // _USERS % _CHATS}"), messages=texts.messages()
        )
        for number in range(turns)
    ]


def _adds_and_flushes(users: list[_User], texts: _Texts, turns: int) -> list[str]:
    """One turn in every chat, then a flush of every chat, and so on."""
    chats = [(user, chat(f"turn{number}")) for user in users for number in range(_CHATS)]
    requests = []
    for _ in range(max(1, turns // len(chats))):
        requests += [
            user.call("add", session_id=name, messages=texts.messages()) for user, name in chats
        ]
        requests += [user.call("flush", session_id=name) for user, name in chats]
    return requests


def _one_by_one(url: str, make: Callable[[], list[str]], seconds: float) -> Sample:
    """The median time of a few sequential requests on one connection, in ms."""
    address = urlsplit(url)
    times = []
    with socket.create_connection((address.hostname or "", address.port or 80)) as connected:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends:
            requests = [it.encode() for it in make()]
            began = time.perf_counter()
            for request in requests:
                connected.sendall(request)
                _read_answer(connected)
            times.append((time.perf_counter() - began) * 1000)
    return Sample(statistics.median(times), {"p99": statistics.quantiles(times, n=100)[98]})


def _read_answer(connected: socket.socket) -> None:
    answer = connected.recv(65536)
    while (end := answer.find(b"\r\n\r\n")) < 0:
        answer += connected.recv(65536)
    length = re.search(rb"content-length: (\d+)", answer[:end], re.IGNORECASE)
    if not answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")) or length is None:
        raise LoadFailed(f"a request failed: {answer[:500]!r}")
    while len(answer) < end + 4 + int(length[1]):
        answer += connected.recv(65536)


def _sign_up(gateway: str, user_id: str) -> _User:
    made = httpx.post(f"{gateway}/users", json={"user_id": user_id}).raise_for_status().json()
    return _User(user_id, made["user_key"])


async def _say(gateway: str, user: _User, turns: list[list[dict[str, Any]]]) -> None:
    """Add all turns to one chat, as a client would."""
    session = {"user_id": user.user_id, "user_key": user.user_key, "session_id": chat("same")}
    async with httpx.AsyncClient(base_url=gateway, timeout=60) as client:
        for start in range(0, len(turns), _TURNS):
            messages = [it for turn in turns[start : start + _TURNS] for it in turn]
            added = await client.post("/memories/add", json={**session, "messages": messages})
            added.raise_for_status()
        (await client.post("/memories/flush", json=session)).raise_for_status()


async def _make(plugin: str, *namespaces: str) -> None:
    gate = asyncio.Semaphore(16)
    async with MemoryClient(plugin, timeout=60) as client:

        async def make(namespace: str) -> None:
            async with gate:
                await client.put_namespace(namespace, NamespaceUpsert(kind="custom"))

        await asyncio.gather(*map(make, namespaces))


async def _fill(
    plugin: str, database: str, user: _User, texts: _Texts, *, sessions: int, turns: int
) -> list[str]:
    """Chats that were flushed long ago, in the plugin and in the gateway's tables; namespaces."""
    names = [
        SessionName(user.user_id, "default", "default", chat(str(number)))
        for number in range(sessions)
    ]
    namespaces = [it.new_namespace() for it in names]
    await _make(plugin, *namespaces)
    began = datetime.now(UTC) - timedelta(days=30)
    writes = [
        BatchWrite(
            id=uuid4(),
            namespace=namespace,
            content=texts.turn(),
            kind="summary",
            source="runtime",
            created_at=began + timedelta(seconds=number),
        )
        for number, namespace in enumerate(it for it in namespaces for _ in range(turns))
    ]
    async with MemoryClient(plugin, timeout=60) as client:
        for start in range(0, len(writes), 500):
            results = await client.batch(writes[start : start + 500])
            if any(isinstance(it, BatchFailure) for it in results):
                raise LoadFailed("the plugin does not take the memories")
    await _execute(database, _SESSIONS, user.user_id, [it.name for it in names], namespaces)
    await _execute(
        database,
        _MEMORY_ROWS,
        [it.id for it in writes],
        [it.namespace for it in writes],
        [it.created_at for it in writes],
    )
    await _execute(database, "VACUUM ANALYZE")
    return namespaces


async def _execute(database: str, statement: str, *arguments: object) -> None:
    async with connection(database) as opened:
        await opened.execute(statement, *arguments)


@contextmanager
def _mem0_process(stage: Stage) -> Iterator[Callable[..., Sample]]:
    """mem0 in its own process with its own folder, and a function that sends it orders."""
    if find_spec("mem0") is None:
        raise RuntimeError("mem0 is not installed; run `make bench`")
    folder = stage.folder / "mem0"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "bench.mem0", str(folder)],
        env={**os.environ, "MEM0_DIR": str(folder), "MEM0_TELEMETRY": "False"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told, answers = process.stdin, process.stdout

        def ask(**order: object) -> Sample:
            print(json.dumps(order), file=told, flush=True)
            figures = json.loads(answers.readline() or "{}")
            if not figures:
                raise RuntimeError("mem0 has failed")
            return Sample(figures["rate"], {"p50": figures["p50"], "p99": figures["p99"]})

        yield ask
        told.close()
