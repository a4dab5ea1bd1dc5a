"""`memory-plugin-postgres` as a process, driven by the client of the contract."""

import asyncio
import json
import re
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from contract import (
    BatchWrite,
    Forbidden,
    HealthResponse,
    MemoryClient,
    MemoryWrite,
    NamespaceUpsert,
    NotFound,
    SearchRequest,
    Unavailable,
)
from tests.acceptance.command import Running, ended, running, told
from tests.in_memory import in_memory
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

A = "workspace:a"


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(
        prefix="mp-cmd-", dir=in_memory(), ignore_cleanup_errors=True
    ) as made:
        yield Path(made)


def fact(content: str, **fields: Any) -> MemoryWrite:
    return MemoryWrite(content=content, kind="fact", source="agent", **fields)


async def healthy(client: MemoryClient) -> HealthResponse | None:
    """Its health, or None while its database does not answer in time."""
    with suppress(Unavailable):
        return await client.health()
    return None


async def drive(plugin: Running, token: str | None = None) -> None:
    """Every endpoint once, with what a caller relies on."""
    async with MemoryClient(plugin.address, token=token, timeout=60) as client:
        health = await eventually(lambda: healthy(client))
        assert set(health.capabilities) == {"embedding", "fts", "ttl", "pin", "propagation"}
        assert {"batch", "list"} <= set(health.extensions or [])
        await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
        one = await client.write(A, fact("the deploy failed", embedding=[1.0, 0.0]))
        batch = [
            BatchWrite(namespace=A, content=f"row {n}", kind="summary", source="user")
            for n in range(20)
        ]
        assert len(await client.batch(batch)) == 20
        found = await client.search(SearchRequest(namespaces=[A], query="deploys"))
        assert [memory.id for memory in found.memories] == [one.id]
        listed = [memory async for memory in client.list_memories([A], page_size=7)]
        assert len(listed) == 21
        await client.forget(one.id, requested_by_namespace=A)
        with pytest.raises(NotFound):
            await client.forget(one.id, requested_by_namespace=A)
        await client.delete_namespace(A)


async def test_embedded_over_tcp_and_the_data_is_there_after_a_restart(directory: Path) -> None:
    flags = ("--listen=127.0.0.1:0", f"--data-dir={directory / 'data'}")
    with running(*flags) as plugin:
        assert plugin.address.startswith("http://127.0.0.1:")
        await drive(plugin)
        async with MemoryClient(plugin.address, timeout=60) as client:
            await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
            await client.write(A, fact("kept"))
        assert plugin.stop() == 0
        assert plugin.lines[-1].endswith("stopped")
    assert not (directory / "data" / "postgres" / "postmaster.pid").exists()
    with running(*flags) as plugin:
        async with MemoryClient(plugin.address, timeout=60) as client:
            found = await client.search(SearchRequest(namespaces=[A]))
            assert [memory.content for memory in found.memories] == ["kept"]
        assert plugin.stop(signal.SIGINT) == 0


async def test_two_workers_on_a_unix_socket_share_everything(
    directory: Path, migrated: str
) -> None:
    path = directory / "plugin.sock"
    environment = {
        "MEMORY_PLUGIN_LISTEN_ADDR": f"unix:{path}",
        "MEMORY_PLUGIN_DATABASE_URL": migrated,
        "MEMORY_PLUGIN_WORKERS": "2",
        "MEMORY_PLUGIN_TOKEN": "secret-token",
        "MEMORY_PLUGIN_SKIP_MIGRATE": "1",
    }
    with running(environment=environment) as plugin:
        assert plugin.address == f"unix:{path}"
        async with MemoryClient(plugin.address, token="secret-token", timeout=60) as client:
            await eventually(lambda: healthy(client))
        await asyncio.gather(*(many_searches(path, 10) for _ in range(8)))

        async def are_all_counted() -> bool:
            return await requests_counted(path) == 80

        await eventually(are_all_counted)  # a request is counted after its answer
        await drive(plugin, "secret-token")
        with pytest.raises(Forbidden):
            async with MemoryClient(plugin.address, token="wrong", timeout=60) as client:
                await client.put_namespace(A, NamespaceUpsert(kind="workspace"))
        workers = plugin.workers
        assert len(workers) == 2
        # A worker that dies is replaced, and what it has counted is not lost.
        workers[0].kill()
        await asyncio.to_thread(plugin.wait_for, re.compile("worker exited"))
        assert await requests_counted(path) >= 80
        await drive(plugin, "secret-token")
        assert plugin.stop() == 0
    assert not path.exists()
    assert not [worker for worker in workers if worker.is_running()]
    assert "secret-token" not in "\n".join(plugin.lines)


async def requests_counted(path: Path) -> float:
    async with over(path) as http:
        text = (await http.get("/metrics")).text
    counted = re.findall(
        r'request_seconds_count\{method="POST",route="/v1/search",status="200"\} (\S+)', text
    )
    return sum(map(float, counted))


async def many_searches(path: Path, count: int) -> None:
    async with over(path) as http:
        for _ in range(count):
            answer = await http.post("/v1/search", json={"namespaces": [A]})
            assert answer.status_code == 200


def over(path: Path) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.AsyncHTTPTransport(uds=str(path)),
        base_url="http://plugin",
        headers={"authorization": "Bearer secret-token"},
        timeout=60,
    )


async def test_workers_do_not_outlive_a_killed_parent(directory: Path, migrated: str) -> None:
    path = directory / "plugin.sock"
    with running(f"--listen=unix:{path}", f"--database-url={migrated}", "--workers=2") as plugin:
        await drive(plugin)
        workers = plugin.workers
        assert len(workers) == 2
        plugin.process.kill()
        _, alive = psutil.wait_procs(workers, timeout=60)
        assert alive == []
    # Its socket file is left behind and taken over.
    with running(f"--listen=unix:{path}", f"--database-url={migrated}") as plugin:
        await drive(plugin)


async def test_logs_are_json_lines_and_warn_of_a_public_address_without_a_token(
    migrated: str,
) -> None:
    with running("--listen=:0", f"--database-url={migrated}", "--log-json") as plugin:
        port = int(plugin.address.rpartition(":")[2])
        for host in ("127.0.0.1", "[::1]" if socket.has_dualstack_ipv6() else "127.0.0.1"):
            async with httpx.AsyncClient(timeout=60) as http:
                assert (await http.get(f"http://{host}:{port}/metrics")).status_code == 200
        assert plugin.stop() == 0
    events = [json.loads(line) for line in plugin.lines]
    assert all({"time", "level", "event"} <= event.keys() for event in events)
    warned = [event["event"] for event in events if event["level"] == "warning"]
    assert [event for event in warned if "MEMORY_PLUGIN_TOKEN" in event]


async def test_malformed_http_gets_the_envelope_and_a_large_body_is_not_read(
    migrated: str,
) -> None:
    with running("--listen=127.0.0.1:0", f"--database-url={migrated}") as plugin:
        port = int(plugin.address.rpartition(":")[2])
        for sent, status in (
            (b"nonsense\r\n\r\n", b"400"),
            (b"GET /v1/h\xc3\xa4lth HTTP/1.1\r\nhost: x\r\n\r\n", b"400"),
            (b"GET /v1/%zz HTTP/1.1\r\nhost: x\r\n\r\n", b"404"),
            (b"POST /v1/search HTTP/1.1\r\nhost: x\r\ncontent-length: 104857600\r\n\r\n", b"413"),
            (
                b"POST /v1/search HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
                + (b"10000\r\n" + b"x" * 0x10000 + b"\r\n") * 20,
                b"413",
            ),
            (b"GET /metrics HTTP/1.0\r\n\r\n", b"200"),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
            assert head.split()[1] == status, (sent[:60], head)
            length = int(re.findall(rb"(?i)content-length: (\d+)", head)[0])
            body = await reader.readexactly(length)
            assert status == b"200" or {"code", "message"} <= json.loads(body).keys()
            writer.close()
        async with httpx.AsyncClient(base_url=plugin.address, timeout=60) as http:
            answer = await http.post("/v1/search", content=b"x" * 100_000_000)
            assert answer.status_code == 413
            assert (await http.get("/metrics")).status_code == 200
        assert plugin.stop() == 0


async def test_the_migrate_command_prepares_a_database_that_skip_migrate_serves(
    database: str,
) -> None:
    code, said = ended("--listen=127.0.0.1:0", f"--database-url={database}", "--skip-migrate")
    assert (code, "migrate" in said) == (1, True)
    code, lines = told("migrate", f"--database-url={database}")
    assert (code, "embeddings" in "\n".join(lines)) == (0, True)
    with running("--listen=127.0.0.1:0", f"--database-url={database}", "--skip-migrate") as plugin:
        await drive(plugin)


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (["--listen=nowhere"], 2, "--listen"),
        (["--workers=0"], 2, "--workers"),
        (["--database-url=mysql://u:hidden@h/d"], 2, "--database-url"),
        (["--database-url=postgresql://u:hidden/3@h/d"], 2, "--database-url"),
        (["--database-url=postgresql://u:hidden@[h/d"], 2, "--database-url"),
        (
            ["--database-url=postgresql://u:hidden@127.0.0.1:1/d", "--startup-timeout=0"],
            1,
            "--data",
        ),
    ],
)
def test_operator_errors_are_one_line(
    flags: list[str], code: int, said: str, migrated: str
) -> None:
    if not any("database" in flag for flag in flags):
        flags = [*flags, f"--database-url={migrated}"]
    given, message = ended(*flags)
    assert given == code
    assert said in message
    assert "hidden" not in message


def test_a_port_in_use_is_reported(migrated: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, said = ended(f"--listen={address}", f"--database-url={migrated}")
    assert (code, address in said, "--listen" in said) == (2, True, True)


def test_an_unusable_address_is_reported_before_anything_is_created(directory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for listen in ("foo:bar", f"127.0.0.1:{taken.getsockname()[1]}", "unix:/no/dir/x"):
            code, lines = told("--listen", listen, cwd=directory)
            assert (code, len(lines)) == (2, 1), lines
            assert "--listen" in lines[0]
    assert list(directory.iterdir()) == []


def test_clients_are_refused_until_the_database_is_there(directory: Path) -> None:
    path = directory / "plugin.sock"
    waiting = re.compile("waiting for the database")
    url = "--database-url=postgresql://u@127.0.0.1:1/d"
    with running(f"--listen=unix:{path}", url, until=waiting) as plugin:
        with socket.socket(socket.AF_UNIX) as client, pytest.raises(ConnectionRefusedError):
            client.connect(str(path))
        assert plugin.stop() == 0
    assert not path.exists()
    assert "listening" not in "\n".join(plugin.lines)


def test_a_host_name_that_cannot_be_resolved_is_reported_in_words(directory: Path) -> None:
    url = "postgresql://operator:hidden@no-such-host.invalid/d"
    flags = ["--listen=127.0.0.1:0", f"--database-url={url}", "--startup-timeout=0"]
    code, lines = told(*flags, cwd=directory)
    assert code == 1
    [line] = lines
    assert "the host name in the database URL cannot be resolved" in line
    assert "hidden" not in line
    assert "gaierror" not in line
    assert "--database-url" in line


def test_a_unix_socket_in_use_is_left_alone(directory: Path, migrated: str) -> None:
    path = directory / "taken.sock"
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(path))
        taken.listen()
        code, said = ended(f"--listen=unix:{path}", f"--database-url={migrated}")
    assert (code, "another server" in said) == (2, True)
    assert path.exists()
