"""Each part is killed under load: no acknowledged message is lost or duplicated, order is kept."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.acceptance.command import Running, running
from tests.faults.cluster import Postgres
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

WRITERS = 6
CONVERSATIONS = 3
AGENT = {"x-api-key": "bot-key"}
ALICE = {"authorization": "Bearer alice"}
BROKEN = (httpx.TransportError, json.JSONDecodeError)


def started(postgres: Postgres, folder: Path) -> Any:
    return running(
        "--dev-auth",
        "--listen=127.0.0.1:0",
        "--workers=2",
        f"--database-url={postgres.url}",
        f"--data-dir={folder}",
        environment={
            "MEMORY_CONVERSATIONS_AGENT_KEYS": "bot=bot-key",
            "MEMORY_CONVERSATIONS_RESPONSE_IDLE_SECONDS": "60",
        },
        command="memory-conversations",
    )


class Load:
    """Writers that retry unanswered writes with the same id, and record the answered ones."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.acknowledged: dict[str, list[tuple[str, int, int]]] = {}
        self.refused = 0
        self._over = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        async with httpx.AsyncClient(base_url=self.address, headers=ALICE, timeout=60) as client:
            for _ in range(CONVERSATIONS):
                made = await client.post("/v1/user/conversations", json={})
                self.acknowledged[made.json()["id"]] = []
        self._tasks = [
            asyncio.create_task(self._write(writer, conversation))
            for conversation in self.acknowledged
            for writer in range(WRITERS)
        ]

    async def stop(self) -> None:
        self._over.set()
        await asyncio.gather(*self._tasks)

    @property
    def count(self) -> int:
        return sum(len(messages) for messages in self.acknowledged.values())

    async def more(self, messages: int) -> None:
        """Wait until this many more are answered."""
        wanted = self.count + messages
        await eventually(lambda: self.count >= wanted)

    async def _write(self, writer: int, conversation: str) -> None:
        number = 0
        path = f"/v1/user/conversations/{conversation}/messages"
        while not self._over.is_set():
            key = str(uuid.uuid4())
            body = {"content": f"{writer}:{number}", "id": key}
            sequence = await self._until_stored(path, body)
            self.acknowledged[conversation].append((key, writer, sequence))
            number += 1

    async def _until_stored(self, path: str, body: dict[str, Any]) -> int:
        async with httpx.AsyncClient(base_url=self.address, headers=ALICE, timeout=60) as client:
            while True:
                try:
                    answer = await client.post(path, json=body)
                except BROKEN:
                    self.refused += 1
                else:
                    if answer.status_code in (200, 201):
                        return int(answer.json()["sequence"])
                    assert answer.status_code == 503, answer.text
                    self.refused += 1
                await asyncio.sleep(0.05)

    async def check(self) -> None:
        """Compare the history with what is stored."""
        async with httpx.AsyncClient(base_url=self.address, headers=ALICE, timeout=60) as client:
            for conversation, acknowledged in self.acknowledged.items():
                stored = await _everything(client, conversation)
                keys = [message["id"] for message in stored]
                assert len(keys) == len(set(keys)), "a message is doubled"
                by_key = {message["id"]: message for message in stored}
                for key, _, sequence in acknowledged:
                    assert by_key[key]["sequence"] == sequence, "an acknowledged message moved"
                assert len(stored) == len(acknowledged), "more is stored than was answered"
                numbers = [message["sequence"] for message in stored]
                assert numbers == list(range(1, len(stored) + 1))
                times = [message["createdAt"] for message in stored]
                assert times == sorted(times)
                for writer in range(WRITERS):
                    own = [m["content"] for m in stored if m["content"].startswith(f"{writer}:")]
                    assert own == [f"{writer}:{number}" for number in range(len(own))]


async def _everything(client: httpx.AsyncClient, conversation: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        path = f"/v1/user/conversations/{conversation}/messages?limit=1000{after}"
        page = (await client.get(path)).json()
        found += page["data"]
        if page["nextCursor"] is None:
            return found
        after = f"&after={page['nextCursor']}"


async def indexed(postgres: Postgres, expected: int) -> None:
    """The plugin gets every message once, whoever was killed."""
    async with postgres.connect() as connection:
        is_empty = "SELECT NOT EXISTS (SELECT FROM memory_conversations.outbox)"
        await eventually(lambda: connection.fetchval(is_empty))
        stored = await connection.fetchval(
            "SELECT count(*) FROM memory_plugin.memory_records AS memory"
            " JOIN memory_conversations.messages AS message ON message.id = memory.id"
            " AND memory.namespace = 'custom:conv:' || message.group_id"
            " AND memory.content = message.content"
        )
        assert stored == expected
        assert stored == await connection.fetchval(
            "SELECT count(*) FROM memory_plugin.memory_records"
        )


@pytest.fixture
async def server(postgres: Postgres, tmp_path: Path) -> AsyncIterator[Running]:
    with started(postgres, tmp_path / "data") as process:
        yield process


async def a_worker(server: Running) -> None:
    await kill_first(server, "spawn_main")


async def the_plugin(server: Running) -> None:
    await kill_first(server, "memory-plugin-postgres")


async def kill_first(server: Running, word: str) -> None:
    """kill -9, as soon as there is one: the one before may have no successor yet."""
    [first, *_] = await eventually(lambda: server.children(word))
    first.kill()


@pytest.mark.parametrize("kill", [a_worker, the_plugin], ids=lambda it: it.__name__)
async def test_a_process_is_killed_under_load(
    server: Running, postgres: Postgres, kill: Callable[[Running], Awaitable[None]]
) -> None:
    load = Load(server.address)
    await load.start()
    await load.more(100)
    for _ in range(2):
        await kill(server)
        await load.more(150)
    await load.stop()
    await load.check()
    await indexed(postgres, load.count)


async def test_postgres_is_killed_under_load(server: Running, postgres: Postgres) -> None:
    load = Load(server.address)
    await load.start()
    await load.more(100)
    postgres.kill()
    postgres.start()
    await postgres.ready()
    await load.more(150)
    await load.stop()
    assert load.refused > 0
    await load.check()
    await indexed(postgres, load.count)


async def test_everything_is_killed_and_started_again(postgres: Postgres, tmp_path: Path) -> None:
    with started(postgres, tmp_path / "first") as first:
        load = Load(first.address)
        await load.start()
        await load.more(100)
        parent = psutil.Process(first.process.pid)
        # The parent first: it would start its children again.
        for process in [parent, *parent.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    with started(postgres, tmp_path / "second") as second:
        load.address = second.address
        for task in load._tasks:
            task.cancel()
        await asyncio.gather(*load._tasks, return_exceptions=True)
        async with httpx.AsyncClient(base_url=second.address, headers=ALICE, timeout=60) as client:
            total = 0
            for conversation, acknowledged in load.acknowledged.items():
                stored = await _everything(client, conversation)
                places = {message["id"]: message["sequence"] for message in stored}
                assert len(places) == len(stored)
                for key, _, sequence in acknowledged:
                    assert places[key] == sequence
                total += len(stored)
        await indexed(postgres, total)


async def test_a_follower_sees_every_character_once_while_workers_die(server: Running) -> None:
    async with httpx.AsyncClient(base_url=server.address, timeout=60) as client:
        made = (await client.post("/v1/user/conversations", json={}, headers=ALICE)).json()
        talk = made["id"]
        agent = f"/v1/agent/conversations/{talk}/response"
        started_ = await client.post(agent, json={"store": True}, headers=AGENT)
        recording = started_.json()["recordingId"]
    text = "".join(f"<{number}>" for number in range(300))
    seen: list[str] = []

    async def follow() -> None:
        last = ""
        while True:
            try:
                async with (
                    httpx.AsyncClient(base_url=server.address, timeout=60) as client,
                    client.stream(
                        "GET",
                        f"/v1/user/conversations/{talk}/response",
                        headers={**ALICE, **({"last-event-id": last} if last else {})},
                    ) as answer,
                ):
                    if answer.status_code == 204:
                        return
                    event: dict[str, str] = {}
                    async for line in answer.aiter_lines():
                        if line:
                            name, _, value = line.partition(": ")
                            event[name] = value
                            continue
                        if event.get("event") == "token":
                            seen.append(json.loads(event["data"])["content"])
                        last = event.get("id", last)
                        event = {}
            except BROKEN:
                await asyncio.sleep(0.1)

    async def record() -> None:
        offset = 0
        pieces = [text[start : start + 20] for start in range(0, len(text), 20)]
        for index, piece in enumerate(pieces):
            if index in (len(pieces) // 3, 2 * len(pieces) // 3):
                await a_worker(server)
            body: dict[str, Any] = {"content": piece, "offset": offset}
            await _until_ok(f"{agent}/{recording}", body)
            offset += len(piece)
            await asyncio.sleep(0.02)
        await _until_ok(f"{agent}/{recording}", {"complete": True})

    async def _until_ok(path: str, body: dict[str, Any]) -> None:
        async def is_ok() -> bool:
            with suppress(*BROKEN):
                async with httpx.AsyncClient(base_url=server.address, timeout=60) as client:
                    answer = await client.post(path, json=body, headers=AGENT)
                assert answer.status_code in (200, 503), answer.text
                return answer.status_code == 200
            return False

        await eventually(is_ok, "the recording cannot be continued")

    followers = [asyncio.create_task(follow())]
    await record()
    await asyncio.gather(*followers)
    assert "".join(seen) == text
    async with httpx.AsyncClient(base_url=server.address, headers=ALICE, timeout=60) as client:
        [stored] = await _everything(client, talk)
        assert stored["content"] == text
