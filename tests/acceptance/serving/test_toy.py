"""A service of three short files: what `serving` and `postgres` give it."""

import asyncio
import os
import re
import signal
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx
import psutil
import pytest

from tests.acceptance.command import Running, running
from tests.integration.postgres.server import ask
from tests.waiting import SECONDS, until

TOY = "tests.toy"
WAITING = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event = 'advisory'"
)
TOKEN = {"authorization": "Bearer hush"}


@pytest.fixture
def toy(database: str) -> Iterator[Running]:
    flags = ["--listen", "127.0.0.1:0", "--database-url", database]
    with running(*flags, "--shutdown-timeout", str(SECONDS), command=TOY) as toy:
        yield toy


@pytest.fixture
def two_workers(database: str) -> Iterator[Running]:
    flags = ["--listen", "127.0.0.1:0", "--database-url", database, "--workers", "2"]
    environment = {"MEMORY_TOY_TOKEN": "hush"}
    with running(*flags, command=TOY, environment=environment) as toy:
        yield toy


def connected(toy: Running) -> socket.socket:
    address = urlsplit(toy.address)
    assert address.hostname
    assert address.port
    return socket.create_connection((address.hostname, address.port), timeout=SECONDS)


def get(url: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
    return httpx.get(url, headers=headers, timeout=SECONDS)


def read_until(client: socket.socket, end: bytes) -> bytes:
    read = b""
    while end not in read:
        part = client.recv(65536)
        assert part, f"closed after {read!r}"
        read += part
    return read


def opened(toy: Running, path: str) -> socket.socket:
    """A stream whose head has come."""
    client = connected(toy)
    client.sendall(f"GET {path} HTTP/1.1\r\nhost: toy\r\n\r\n".encode())
    assert read_until(client, b"\r\n\r\n").startswith(b"HTTP/1.1 200")
    return client


def test_every_part_of_a_stream_arrives_when_it_is_made(toy: Running) -> None:
    with opened(toy, "/notes/stream") as stream:
        for text in ("one", "two", "three", "four"):
            httpx.post(f"{toy.address}/notes", content=text, timeout=SECONDS).raise_for_status()
            assert f"data: {text}\n\n".encode() in read_until(stream, b"\n\n\r\n")


def test_a_client_that_closes_ends_its_stream_at_once(toy: Running) -> None:
    ended = re.compile("stream ended")
    with opened(toy, "/notes/stream"):
        pass
    # No part of the stream is sent meanwhile: nothing but the close itself can tell it.
    toy.wait_for(ended)
    client = connected(toy)
    client.sendall(b"GET /notes/stream HTTP/1.1\r\nhost: toy\r\n\r\n")
    client.close()  # before the answer began
    toy.wait_for(ended)


@contextmanager
def waiting_request(client: socket.socket, database: str) -> Iterator[None]:
    """A request that cannot be answered before the context ends."""

    async def lock() -> asyncpg.Connection:
        connection = await asyncpg.connect(database)
        await connection.execute("SELECT pg_advisory_lock(1)")
        return connection

    with asyncio.Runner() as runner:
        connection = runner.run(lock())
        client.sendall(b"GET /notes/1 HTTP/1.1\r\nhost: toy\r\n\r\n")
        until(lambda: ask(database, WAITING) > 0, "the request does not arrive")
        try:
            yield
        finally:
            runner.run(connection.close())


def test_a_client_that_only_stops_sending_gets_its_answer(toy: Running, database: str) -> None:
    with connected(toy) as client:
        with waiting_request(client, database):
            client.shutdown(socket.SHUT_WR)
        assert client.makefile("rb").read().startswith(b"HTTP/1.1 200")


def test_a_stop_waits_for_requests_and_ends_streams(toy: Running, database: str) -> None:
    with opened(toy, "/notes/stream") as stream, connected(toy) as client:
        with waiting_request(client, database):
            toy.process.send_signal(signal.SIGTERM)
            toy.wait_for(re.compile("stream ended"))
        assert toy.exit_code() == 0
        assert client.makefile("rb").read().startswith(b"HTTP/1.1 200")
        assert stream.makefile("rb").read().endswith(b"0\r\n\r\n"), "the stream is complete"


def test_a_stream_that_does_not_end_at_a_stop_is_cut(database: str) -> None:
    flags = ["--listen", "127.0.0.1:0", "--database-url", database, "--shutdown-timeout", "1"]
    with running(*flags, command=TOY) as toy, opened(toy, "/notes/endless") as stream:
        assert toy.stop() == 0
        assert not stream.makefile("rb").read().endswith(b"0\r\n\r\n"), "it looks complete"


def test_a_body_that_is_too_large_is_refused_before_it_is_read(toy: Running) -> None:
    small, large = 64 * 1024, 4 * 2**20
    for to, limit in (
        ("POST /notes", small),
        ("POST /upload", large),
        ("PUT /upload", small),
    ):
        with connected(toy) as client:
            head = f"{to} HTTP/1.1\r\nhost: toy\r\ncontent-length: {limit + 1}\r\n\r\n"
            client.sendall(head.encode())  # and not a byte of the body
            assert read_until(client, b"body_too_large").startswith(b"HTTP/1.1 413")


def test_a_body_of_unknown_length_is_refused_while_it_is_read(toy: Running) -> None:
    with connected(toy) as client:
        client.sendall(b"POST /notes HTTP/1.1\r\nhost: toy\r\ntransfer-encoding: chunked\r\n\r\n")
        part = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
        for _ in range(3):
            client.sendall(part)
        # The client has not said that this was all.
        assert read_until(client, b"body_too_large").startswith(b"HTTP/1.1 413")


def test_an_upload_may_be_as_large_as_its_own_route_allows(toy: Running) -> None:
    answer = httpx.post(f"{toy.address}/upload", content=b"x" * (4 * 2**20), timeout=SECONDS)
    assert answer.json() == {"bytes": 4 * 2**20}


def test_what_goes_wrong_has_the_envelope_of_the_service(toy: Running) -> None:
    def code(answer: httpx.Response) -> tuple[int, str]:
        return answer.status_code, answer.json()["code"]

    assert code(get(f"{toy.address}/nothing")) == (404, "not_found")
    refused = httpx.delete(f"{toy.address}/notes", timeout=SECONDS)
    assert code(refused) == (405, "method_not_allowed")
    assert refused.headers["allow"] == "POST"
    failed = get(f"{toy.address}/fail")
    assert code(failed) == (500, "internal")
    toy.wait_for(re.compile("request failed"))
    assert not [line for line in toy.lines if "a secret" in line]
    with connected(toy) as client:
        client.sendall(b"NOT HTTP\r\n\r\n")
        assert read_until(client, b'"code":"bad_request"').startswith(b"HTTP/1.1 400")


def test_a_broken_body_that_waits_for_100_continue_is_refused_once(toy: Running) -> None:
    with connected(toy) as client:
        client.sendall(
            b"POST /notes HTTP/1.1\r\nHost: toy\r\nExpect: 100-continue\r\n"
            b"Transfer-Encoding: chunked\r\n\r\nnot a chunk\r\n"
        )
        assert read_until(client, b'"code":"bad_request"').startswith(b"HTTP/1.1 400")
    get(f"{toy.address}/nothing")
    assert not [line for line in toy.lines if "ERROR" in line]


def test_everything_but_the_open_paths_needs_the_token(two_workers: Running) -> None:
    address = two_workers.address
    until(lambda: get(f"{address}/health").status_code == 200)
    until(lambda: httpx.head(f"{address}/health", timeout=SECONDS).status_code == 200)
    for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": "hush"}):
        refused = get(f"{address}/metrics", headers=given)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
    for scheme in ("Bearer", "bearer", "BEARER"):
        given = {"authorization": f"{scheme} hush"}
        assert get(f"{address}/metrics", headers=given).status_code == 200


def counted(toy: Running) -> float:
    text = get(f"{toy.address}/metrics", headers=TOKEN).text
    name = r'memory_toy_request_seconds_count{method="POST",route="/notes",status="201"}'
    found = re.search(re.escape(name) + r" (\S+)", text)
    return float(found[1]) if found else 0


def post(toy: Running) -> int:
    """Write a note on a connection of its own, and return the worker that did it."""
    answer = httpx.post(f"{toy.address}/notes", content="x", headers=TOKEN, timeout=SECONDS)
    assert answer.status_code == 201
    worker: int = answer.json()["worker"]
    return worker


def test_metrics_are_those_of_all_workers_and_of_those_that_were_killed(
    two_workers: Running,
) -> None:
    seen: set[int] = set()
    posted = 0
    while len(seen) < 2:
        seen.add(post(two_workers))
        posted += 1
    until(lambda: counted(two_workers) == posted)  # a request is counted after its answer
    killed = seen.pop()
    os.kill(killed, signal.SIGKILL)
    two_workers.wait_for(re.compile("worker exited"))
    while post(two_workers) in (killed, *seen):  # until another one has its place
        posted += 1
    until(lambda: counted(two_workers) == posted + 1)


@pytest.mark.anyio
async def test_every_worker_is_notified_of_a_change(two_workers: Running) -> None:
    async def told(client: httpx.AsyncClient, ready: asyncio.Event) -> None:
        async with client.stream("GET", "/notes/stream", headers=TOKEN) as stream:
            ready.set()
            async for line in stream.aiter_lines():
                if line == "data: news":
                    return

    async with httpx.AsyncClient(base_url=two_workers.address, timeout=SECONDS) as client:
        ready = [asyncio.Event() for _ in range(8)]
        streams = [asyncio.create_task(told(client, it)) for it in ready]
        for event in ready:
            await event.wait()
        await client.post("/notes", content="news", headers=TOKEN)
        await asyncio.wait_for(asyncio.gather(*streams), SECONDS)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory whose name leaves room for that of a socket, as pytest's own may not."""
    with tempfile.TemporaryDirectory(prefix="toy-") as made:
        yield Path(made)


def test_the_plugin_runs_as_a_child_is_restarted_and_ends_with_its_parent(
    database: str, short_path: Path
) -> None:
    flags = ["--listen", "127.0.0.1:0", "--database-url", database, "--data-dir", str(short_path)]
    with running(*flags, "--with-plugin", command=TOY) as toy:
        url = get(f"{toy.address}/health").json()["plugin"]
        assert url.startswith(f"unix:{short_path}/")
        with plugin_at(url) as plugin:
            until(lambda: plugin.get("/v1/health").json()["status"] == "ok")
        [child] = children(toy)
        child.kill()
        toy.wait_for(re.compile("child exited; restarting"))
        wait_for_plugin(url)
        [child] = children(toy)
        toy.process.kill()
        toy.process.wait()
        child.wait(SECONDS)
    with running(*flags, "--with-plugin", command=TOY) as toy:
        again = get(f"{toy.address}/health").json()["plugin"]
        assert [path.name for path in short_path.glob("*.sock")] == [Path(again[5:]).name]
        [child] = children(toy)
        assert toy.stop() == 0
        assert not child.is_running()
        assert list(short_path.glob("*.sock")) == []


def test_a_killed_servers_short_folder_is_removed_later(database: str, short_path: Path) -> None:
    data_dir = short_path / ("long" * 30)
    flags = ["--listen", "127.0.0.1:0", "--database-url", database, "--data-dir", str(data_dir)]
    environment = {"TMPDIR": str(short_path)}
    sockets = "memory-*/*.sock"
    with running(*flags, "--with-plugin", command=TOY, environment=environment) as toy:
        [child] = children(toy)
        toy.process.kill()
        toy.process.wait()
        child.wait(SECONDS)
    with running(*flags, "--with-plugin", command=TOY, environment=environment) as toy:
        url = get(f"{toy.address}/health").json()["plugin"]
        wait_for_plugin(url)
        assert [f"unix:{path}" for path in short_path.glob(sockets)] == [url]
        assert toy.stop() == 0
    assert [path.name for path in short_path.iterdir()] == [data_dir.name]


def test_an_orphan_that_does_not_exit_does_not_prevent_a_start(
    database: str, tmp_path: Path
) -> None:
    flags = ["--listen", "127.0.0.1:0", "--database-url", database, "--data-dir", str(tmp_path)]
    with running(*flags, "--with-plugin", command=TOY) as first:
        [orphan] = children(first)
        orphan.suspend()
        try:
            first.process.kill()
            first.process.wait()
            with running(*flags, "--with-plugin", command=TOY) as toy:
                wait_for_plugin(get(f"{toy.address}/health").json()["plugin"])
        finally:
            orphan.kill()


def test_a_plugin_that_does_not_start_is_reported(database: str, tmp_path: Path) -> None:
    flags = ["--listen", "127.0.0.1:0", "--database-url", database, "--data-dir", str(tmp_path)]
    environment = {"MEMORY_PLUGIN_POOL_SIZE": "1"}
    with running(
        *flags,
        "--with-plugin",
        command=TOY,
        environment=environment,
        until=re.compile("the child process .* did not start"),
    ) as toy:
        assert toy.exit_code() == 1
        assert "--pool-size" in "\n".join(toy.lines)


def children(toy: Running) -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process(toy.process.pid).children()
        if any("memory-plugin-postgres" in word for word in child.cmdline())
    ]


def plugin_at(url: str) -> httpx.Client:
    transport = httpx.HTTPTransport(uds=url.removeprefix("unix:"))
    return httpx.Client(transport=transport, base_url="http://plugin", timeout=SECONDS)


def wait_for_plugin(url: str) -> None:
    def is_back() -> bool:
        # httpx leaves the socket of an attempt that failed to the garbage collector.
        with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
            probe.connect(url.removeprefix("unix:"))
            with plugin_at(url) as plugin:
                return bool(plugin.get("/v1/health").json()["status"] == "ok")
        return False

    until(is_back, "the plugin is not back")
