"""Something is killed under load: no request fails because of its memory."""

import asyncio
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest

from postgres.embedded import embedded_postgres
from tests.integration.recall.server import (
    MANAGEMENT,
    Process,
    Recall,
    plugin_process,
    recall,
)
from tests.integration.recall.upstream import Model, scripted_model
from tests.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CLIENTS = 6


class House:
    """Recall and everything it depends on, each of which can be killed."""

    def __init__(self, stack: ExitStack) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="rk-"))
        stack.callback(shutil.rmtree, self.directory, ignore_errors=True)
        self.database = stack.enter_context(embedded_postgres(self.directory))
        self.model: Model = stack.enter_context(scripted_model())
        self.socket = self.directory / "p.sock"
        self.plugin: Process = stack.enter_context(plugin_process(f"unix:{self.socket}"))
        flags = ["--database-url", self.database, "--plugin-url", f"unix:{self.socket}"]
        flags += ["--upstream-url", self.model.url, "--dev-auth", "--workers", "2"]
        self.server: Recall = stack.enter_context(recall(*flags))

    def postmaster(self) -> int:
        [file] = self.directory.rglob("postmaster.pid")
        return int(file.read_text().splitlines()[0])

    def workers(self) -> list[psutil.Process]:
        return [
            child
            for child in psutil.Process(self.server.process.pid).children()
            if any("spawn_main" in part for part in child.cmdline())
        ]


@pytest.fixture
def house() -> Iterator[House]:
    with ExitStack() as stack:
        yield House(stack)


class Load:
    """Clients that chat continuously."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.answers: list[httpx.Response] = []
        self.broken: list[str] = []
        self._over = False

    async def __aenter__(self) -> "Load":
        self._tasks = [asyncio.create_task(self._chat(number)) for number in range(CLIENTS)]
        await self.more(20)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over = True
        await asyncio.gather(*self._tasks)

    async def more(self, count: int) -> None:
        """Wait until this many more are answered."""
        wanted = len(self.answers) + count
        deadline = time.monotonic() + 120
        while len(self.answers) < wanted:
            assert time.monotonic() < deadline, "nothing is answered any more"
            await asyncio.sleep(0.02)

    async def _chat(self, number: int) -> None:
        headers = {"authorization": f"Bearer load-{number}"}
        async with httpx.AsyncClient(base_url=self._url, headers=headers, timeout=60) as client:
            turn = 0
            while not self._over:
                turn += 1
                text = f"I prefer number {turn}. What do I prefer?"
                body = {"model": "m", "messages": [{"role": "user", "content": text}]}
                try:
                    self.answers.append(await client.post("/v1/chat/completions", json=body))
                except httpx.TransportError as error:
                    self.broken.append(type(error).__name__)


def assert_all_answered(load: Load) -> None:
    assert {answer.status_code for answer in load.answers} == {200}
    assert all("All right." in answer.text for answer in load.answers)


async def test_the_plugin(house: House) -> None:
    async with Load(house.server.url) as load:
        house.plugin.process.kill()
        await load.more(60)
    assert_all_answered(load)
    assert load.broken == []
    assert "x-memory-error" in load.answers[-1].headers


async def test_postgresql(house: House) -> None:
    async with Load(house.server.url) as load:
        os.kill(house.postmaster(), signal.SIGKILL)
        await load.more(60)
    assert_all_answered(load)
    assert load.broken == []


async def test_postgresql_that_hangs(house: House) -> None:
    postmaster = psutil.Process(house.postmaster())
    async with Load(house.server.url) as load:
        frozen = [postmaster, *postmaster.children(recursive=True)]
        for process in frozen:
            process.suspend()
        try:
            await load.more(60)
        finally:
            for process in frozen:
                process.resume()
        await load.more(20)
    assert_all_answered(load)
    assert load.broken == []


async def test_a_worker(house: House) -> None:
    async with Load(house.server.url) as load:
        house.workers()[0].kill()
        await load.more(60)
    assert_all_answered(load)
    # Only those whose worker died were cut off.
    assert len(load.broken) <= CLIENTS


async def test_the_model(house: House) -> None:
    async def gone(_received: object, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with Load(house.server.url) as load:
        talk = house.model.respond
        house.model.respond = gone
        await load.more(20)
        house.model.respond = talk
        seen = len(load.answers)
        await load.more(40)
    assert {answer.status_code for answer in load.answers} <= {200, 502}
    assert [answer.status_code for answer in load.answers[seen + CLIENTS :]].count(502) == 0


async def test_what_was_acknowledged_survives_a_killed_worker(house: House) -> None:
    async with httpx.AsyncClient(
        base_url=house.server.url, headers=MANAGEMENT, timeout=60
    ) as client:
        kept: list[str] = []
        for number in range(40):
            if number == 20:
                house.workers()[0].kill()
            body = {"apiKeyId": "a", "key": f"k{number}", "content": "c"}
            try:
                answer = await client.post("/api/memory", json=body)
            except httpx.TransportError:
                continue
            assert answer.status_code == 200
            kept.append(answer.json()["id"])

        def listed() -> bool:
            shown = httpx.get(
                f"{house.server.url}/api/memory?apiKeyId=a&limit=200",
                headers=MANAGEMENT,
                timeout=60,
            )
            return set(kept) <= {row["id"] for row in shown.json()["data"]}

        await asyncio.to_thread(until, listed)
