"""A thousand clients follow one response and see every character once, whatever is killed."""

import asyncio
import json
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.acceptance.command import Running
from tests.faults.cluster import Postgres
from tests.faults.conversations.test_killed import AGENT, ALICE, started

pytestmark = pytest.mark.anyio

SECONDS = 240.0
FOLLOWERS = 1000
PIECES = [f"<{number}: ü🎉>" for number in range(24)]
TEXT = "".join(PIECES)


@dataclass
class Follower:
    """Reads the stream line by line, and resumes where it was cut off."""

    host: str
    port: int
    path: str
    text: str = ""
    last: str = ""
    streams: int = 0
    is_done: bool = False

    async def follow(self) -> None:
        while not self.is_done:
            with suppress(OSError):
                await self._read()
            await asyncio.sleep(0.05)

    async def _read(self) -> None:
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            head = f"GET {self.path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer alice\r\n"
            if self.last:
                head += f"last-event-id: {self.last}\r\n"
            writer.write(f"{head}\r\n".encode())
            status = (await reader.readline()).split()[1:2]
            if status == [b"204"]:
                self.is_done = True
            if status == [b"200"]:
                self.streams += 1
                await self._events(reader)
        finally:
            writer.close()

    async def _events(self, reader: asyncio.StreamReader) -> None:
        """Each event is one chunk, so that a line of it is torn by the end of the stream only."""
        key = event = ""
        while (raw := await reader.readline()).endswith(b"\n"):
            name, _, value = raw.decode().rstrip("\r\n").partition(": ")
            if name == "id":
                key = value
            elif name == "event":
                event = value
            elif name == "data":
                if event == "token":
                    self.text += json.loads(value)["content"]
                self.last = key
                if event == "end":
                    self.is_done = True
                    return


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True], ids=["nobody dies", "workers die"])
async def test_a_thousand_followers_see_every_character_once(
    postgres: Postgres, tmp_path: Path, killed: bool
) -> None:
    with started(postgres, tmp_path / "data") as server:
        async with httpx.AsyncClient(base_url=server.address, timeout=60) as client:
            made = await client.post("/v1/user/conversations", json={}, headers=ALICE)
            talk = made.json()["id"]
            agent = f"/v1/agent/conversations/{talk}/response"
            recording = (await client.post(agent, json={}, headers=AGENT)).json()["recordingId"]
        address = urlsplit(server.address)
        path = f"/v1/user/conversations/{talk}/response"
        followers = [
            Follower(address.hostname or "", address.port or 0, path) for _ in range(FOLLOWERS)
        ]
        tasks = [asyncio.create_task(follower.follow()) for follower in followers]
        async with asyncio.timeout(SECONDS):
            while not all(one.streams for one in followers):  # noqa: ASYNC110 - a thousand count
                await asyncio.sleep(0.05)
            await _record(server, f"{agent}/{recording}", killed)
            await asyncio.gather(*tasks)
    assert [follower.text for follower in followers] == [TEXT] * FOLLOWERS
    again = sum(follower.streams > 1 for follower in followers)
    assert again >= FOLLOWERS // 4 if killed else again == 0


async def _record(server: Running, path: str, killed: bool) -> None:
    offset = 0
    for index, piece in enumerate(PIECES):
        if killed and index in (len(PIECES) // 3, 2 * len(PIECES) // 3):
            os.kill(server.workers[0].pid, signal.SIGKILL)
        await _until_ok(server, path, {"content": piece, "offset": offset})
        offset += len(piece)
    await _until_ok(server, path, {"complete": True})


async def _until_ok(server: Running, path: str, body: dict[str, object]) -> None:
    while True:
        try:
            async with httpx.AsyncClient(base_url=server.address, timeout=60) as client:
                answer = await client.post(path, json=body, headers=AGENT)
            if answer.status_code == 200:
                return
            assert answer.status_code == 503, answer.text
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.05)
