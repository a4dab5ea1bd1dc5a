"""Recall: the proxy beside a bare one, what memory adds, listings that grow, extraction."""

import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from bench.load import send
from bench.measure import Measure, Sample
from bench.stage import Stage, address
from contract import MemoryClient
from postgres.codecs import json_as_python
from postgres.database import Database
from recall.extraction import extract_facts_from_text
from recall.ledger import Ledger
from recall.memory import Memory, memory_id
from recall.settings import Settings
from recall.store import MemoryStore

_CONNECTIONS = 16
_MEMORIES = 10_000
_LISTED = (1_000, 100_000)
_TOKEN = "test-management"
# As in any language a few words are common and most are rare.
_WORDS = [
    f"{a}{b}{c}"
    for a in "bdfgklmnprst"
    for b in ("ara", "eno", "ilu", "omi", "uke")
    for c in ("n", "s", "t", "ra", "lo", "mi", "ne", "du", "ka", "po")
]
_WEIGHTS = [1 / (rank + 10) for rank in range(len(_WORDS))]


def measures(stage: Stage) -> Iterator[Measure]:
    """All of them play on one recall, with one worker: so has the bare proxy."""
    with (
        stage.database("recall") as database,
        _model() as model,
        stage.plugin(database, workers=1) as plugin,
        _recall(stage, database, plugin, model) as url,
        _python("bench.recall_bare", model) as bare,
    ):
        rows = stage.scale(_MEMORIES)
        asyncio.run(_fill(database, plugin, "bench", rows))
        yield Measure(
            name="recall_bare",
            title="Recall's proxy without memory against Starlette + httpx",
            unit="requests/s",
            contestants={
                "memory-recall": partial(_skipped, url, stage.seconds),
                "Starlette + httpx": partial(_skipped, bare, stage.seconds),
            },
            must=1.0,
            aim=1.5,
        )
        yield Measure(
            name="recall_added",
            title=f"p50 added by recalling, {rows:,} memories of the key",
            unit="ms",
            contestants={"memory-recall": partial(_added, url, stage.seconds)},
            better="lower",
            must=5.0,
            aim=2.0,
            at_most=True,
        )
        yield Measure(
            name="recall_first_byte",
            title="p50 added to the first byte of a stream",
            unit="ms",
            contestants={"memory-recall": partial(_first_byte_added, url)},
            better="lower",
            must=5.0,
            aim=2.0,
            at_most=True,
        )
        few, many = (stage.scale(count) for count in _LISTED)
        asyncio.run(_fill(database, plugin, "few", few))
        asyncio.run(_fill(database, plugin, "many", many))
        yield Measure(
            name="recall_listing",
            title=f"Page 1 with stats, {many:,} memories against {few:,}",
            unit="× longer",
            contestants={"memory-recall": partial(_listing_grows, url, stage.seconds)},
            better="lower",
            must=3.0,
            aim=1.5,
            at_most=True,
        )
    yield Measure(
        name="recall_extraction",
        title="Facts of 64 KiB of prose",
        unit="ms",
        contestants={"extract_facts_from_text": _extraction},
        better="lower",
        must=50.0,
        aim=10.0,
        at_most=True,
    )


def _ask(text: str, *headers: str, stream: bool = False) -> str:
    body = json.dumps(
        {"model": "m", "stream": stream, "messages": [{"role": "user", "content": text}]}
    )
    lines = [
        "POST /v1/chat/completions HTTP/1.1",
        "Host: recall",
        "Authorization: Bearer bench",
        "Content-Type: application/json",
        *headers,
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(lines) + "\r\n\r\n" + body


def _questions(count: int) -> list[str]:
    """Each is a turn of its own: what was chosen for one is of no use to the next."""
    salt = uuid4().hex[:8]
    return [
        f"What do I say about the {' and the '.join(random.choices(_WORDS, _WEIGHTS, k=2))}?"
        f" {salt} {number}"
        for number in range(count)
    ]


def _skipped(url: str, seconds: float) -> Sample:
    requests = [_ask(text, "x-memory-skip: all") for text in _questions(200)]
    return send(url, requests, connections=_CONNECTIONS, seconds=seconds)


def _added(url: str, seconds: float) -> Sample:
    asked = _questions(20_000)
    plain = send(
        url, [_ask(text, "x-memory-skip: all") for text in asked], connections=1, seconds=seconds
    )
    full = send(
        url,
        [_ask(text, "x-memory-skip: extract") for text in asked],
        connections=1,
        seconds=seconds,
    )
    added = full.details["p50"] - plain.details["p50"]
    return Sample(added, {"skipped": plain.details["p50"], "recalled": full.details["p50"]})


def _first_byte_added(url: str) -> Sample:
    plain = _first_bytes(url, "x-memory-skip: all")
    full = _first_bytes(url, "x-memory-skip: extract")
    return Sample(full - plain, {"skipped": plain, "recalled": full})


def _first_bytes(url: str, header: str) -> float:
    """The median time from a request to the first byte of its stream, in ms."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    times = []
    with socket.create_connection((parts.hostname, parts.port or 80)) as connected:
        for text in _questions(100):
            request = _ask(text, header, stream=True).encode()
            started = time.perf_counter()
            connected.sendall(request)
            answer = connected.recv(65536)
            times.append((time.perf_counter() - started) * 1000)
            while not answer.endswith(b"0\r\n\r\n"):
                answer += connected.recv(65536)
    return statistics.median(times)


def _listing_grows(url: str, seconds: float) -> Sample:
    def p50(owner: str) -> float:
        head = f"GET /api/memory?apiKeyId={owner} HTTP/1.1\r\nHost: recall\r\n"
        request = f"{head}Authorization: Bearer {_TOKEN}\r\n\r\n"
        return send(url, [request], connections=1, seconds=seconds).details["p50"]

    few, many = p50("few"), p50("many")
    return Sample(many / few, {"few": few, "many": many})


def _extraction() -> Sample:
    sentences = [
        "The meeting went on for an hour, and nobody had read the report before it began.",
        "I prefer short emails with one question each.",
        "We will use PostgreSQL for the new service, because everybody knows it.",
        "She said that the train was late again; he did not believe her.",
    ]
    text = " ".join(sentences * 400)[: 64 * 1024]
    times = []
    for _ in range(5):
        started = time.perf_counter()
        extract_facts_from_text(text)
        times.append((time.perf_counter() - started) * 1000)
    return Sample(statistics.median(times))


async def _fill(database: str, plugin: str, owner: str, count: int) -> None:
    settings = Settings(database_url=database)
    opened = Database(settings, name="bench", search_path="memory_recall", prepare=json_as_python)
    await opened.open()
    start = datetime.now(UTC) - timedelta(days=1)
    generator = random.Random(owner)
    async with MemoryClient(plugin, timeout=60) as client:
        store = MemoryStore(client, Ledger(opened))
        memories = [
            Memory(
                id=memory_id(owner, f"k{number}"),
                api_key_id=owner,
                key=f"k{number}",
                content="I noted the " + " and the ".join(generator.choices(_WORDS, _WEIGHTS, k=6)),
                created_at=start + timedelta(milliseconds=number),
                updated_at=start + timedelta(milliseconds=number),
            )
            for number in range(count)
        ]
        await store.rewrite(memories)
    await opened.execute("VACUUM ANALYZE memory_plugin.memory_records")
    await opened.close()


@contextmanager
def _model() -> Iterator[str]:
    with _python("bench.recall_upstream") as url:
        yield f"{url}/v1"


@contextmanager
def _python(module: str, *arguments: str) -> Iterator[str]:
    """A module as a process that prints its port."""
    command = [sys.executable, "-m", module, *(it.removesuffix("/v1") for it in arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        _stop(process)


@contextmanager
def _recall(stage: Stage, database: str, plugin: str, model: str) -> Iterator[str]:
    log = stage.folder / "recall.log"
    command = [str(Path(sys.executable).with_name("memory-recall")), "--dev-auth"]
    command += ["--listen", "127.0.0.1:0", "--database-url", database, "--plugin-url", plugin]
    command += ["--upstream-url", model]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stderr=output, env=os.environ | {"MEMORY_RECALL_MANAGEMENT_TOKEN": _TOKEN}
        )
    try:
        yield f"http://{address(process, log)}"
    finally:
        _stop(process)


def _stop(process: "subprocess.Popen[str] | subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(20)
    if process.stdout is not None:
        process.stdout.close()
