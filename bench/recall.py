"""Recall: the proxy compared with a bare one, what memory adds, growing lists, extraction."""

import asyncio
import json
import os
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

import httpx

from bench.chat import questions, statements
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
_READY_SECONDS = 120


def measures(stage: Stage) -> Iterator[Measure]:
    """All on one recall with one worker, like the bare proxy."""
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
            title="proxy without memory, compared with Starlette + httpx",
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
            title=f"p50 added by recall, {rows:,} memories of the key",
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
        with _litellm(stage, model) as other:
            yield Measure(
                name="recall_litellm",
                title="proxy with memory, compared with the LiteLLM proxy without",
                unit="requests/s",
                contestants={
                    "memory-recall": partial(_recalling, url, stage.seconds),
                    "LiteLLM proxy": partial(_skipped, other, stage.seconds),
                },
                must=2.0,
                aim=5.0,
            )
        few, many = (stage.scale(count) for count in _LISTED)
        asyncio.run(_fill(database, plugin, "few", few))
        asyncio.run(_fill(database, plugin, "many", many))
        yield Measure(
            name="recall_listing",
            title=f"first page with stats, {many:,} memories, compared with {few:,}",
            unit="× longer",
            contestants={"memory-recall": partial(_listing_grows, url, stage.seconds)},
            better="lower",
            must=3.0,
            aim=1.5,
            at_most=True,
        )
    yield Measure(
        name="recall_extraction",
        title="fact extraction from 64 KiB of prose",
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


def _skipped(url: str, seconds: float) -> Sample:
    requests = [_ask(text, "x-memory-skip: all") for text in questions(200)]
    return send(url, requests, connections=_CONNECTIONS, seconds=seconds)


def _recalling(url: str, seconds: float) -> Sample:
    """Every question is new, so memories are looked up for each."""
    requests = [_ask(text, "x-memory-skip: extract") for text in questions(20_000)]
    return send(url, requests, connections=_CONNECTIONS, seconds=seconds)


def _added(url: str, seconds: float) -> Sample:
    asked = questions(20_000)
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
        for text in questions(100):
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
    """Every second sentence states a fact, and no two are the same."""
    others = (
        "The meeting went on for an hour, and nobody had read the report before it began.",
        "She said that the train was late again; he did not believe her.",
    )
    stated = enumerate(statements(1_500, "prose"))
    text = " ".join(f"{it}. {others[number % 2]}" for number, it in stated)[: 64 * 1024]
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
    async with MemoryClient(plugin, timeout=60) as client:
        store = MemoryStore(client, Ledger(opened))
        memories = [
            Memory(
                id=memory_id(owner, f"k{number}"),
                api_key_id=owner,
                key=f"k{number}",
                content=content,
                created_at=start + timedelta(milliseconds=number),
                updated_at=start + timedelta(milliseconds=number),
            )
            for number, content in enumerate(statements(count, owner))
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
    """Runs a module as a process that prints its port."""
    command = [sys.executable, "-m", module, *(it.removesuffix("/v1") for it in arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        _stop(process)


@contextmanager
def _litellm(stage: Stage, model: str) -> Iterator[str]:
    """The LiteLLM proxy with one worker, in its own environment: it pins other versions."""
    command = Path(sys.prefix) / "litellm" / "bin" / "litellm"
    if not command.exists():
        raise RuntimeError("the LiteLLM proxy is not installed; run `make bench`")
    config = stage.folder / "litellm.json"
    parameters = {"model": "openai/m", "api_base": model, "api_key": "none"}
    config.write_text(
        json.dumps({"model_list": [{"model_name": "m", "litellm_params": parameters}]})
    )
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    quiet = {"LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    # It checks no keys here, which saves it work.
    open_to_all = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
    log = stage.folder / "litellm.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(command), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)],
            stdout=output,
            stderr=output,
            env=os.environ | quiet | open_to_all,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{url}/health/liveliness", process, log)
        # Its first responses take seconds.
        for text in questions(20):
            body = {"model": "m", "messages": [{"role": "user", "content": text}]}
            answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=_READY_SECONDS)
            answer.raise_for_status()
        yield url
    finally:
        _stop(process)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(_READY_SECONDS * 5):
        try:
            if httpx.get(url).is_success:
                return
        except httpx.TransportError:
            if process.poll() is not None:
                break
        time.sleep(0.2)
    raise RuntimeError(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")


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
    process.wait(60)
    if process.stdout is not None:
        process.stdout.close()
