"""Thousands of broken requests on a raw socket: no 5xx, no hang, no leak, no alarm in the log."""

import asyncio
import random
import re
from random import Random

import pytest

from tests.faults.broken import broken_request
from tests.faults.plugin import Plugin
from tests.faults.raw_http import Connection, request

pytestmark = pytest.mark.anyio

ANSWER_SECONDS = 60.0
AT_ONCE = 16
GROWTH = 16 * 2**20
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


@pytest.mark.parametrize(
    "count", [600, pytest.param(12_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
async def test_broken_requests_do_no_harm(tcp_plugin: Plugin, count: int) -> None:
    source = Random(random.getrandbits(64))
    # Every kind of damage at least once, before memory is measured.
    await send_all(tcp_plugin, [broken_request(source) for _ in range(count // 3)])
    before = tcp_plugin.memory
    await send_all(tcp_plugin, [broken_request(source) for _ in range(count)])
    assert tcp_plugin.memory - before < GROWTH
    assert tcp_plugin.alarms[:3] == []
    await tcp_plugin.ready()


async def send_all(plugin: Plugin, requests: list[bytes]) -> None:
    waiting = iter(requests)

    async def work() -> None:
        for data in waiting:
            await send(plugin.address, data)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())


async def send(address: str, data: bytes) -> None:
    """Send it, close the sending side, and read until the server closes."""
    connection = await Connection.open(address)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await connection.send(data)
            connection.writer.write_eof()
            said = await connection.reader.read()
    except TimeoutError:
        pytest.fail(f"no answer and no end to {data[:300]!r}")
    except OSError:
        # The server refused the rest of a request that it had already answered.
        return
    finally:
        connection.close()
    for status in _STATUS.findall(said):
        assert int(status) < 500, f"{said[:300]!r} to {data[:300]!r}"


async def test_unparsable_requests_get_the_envelope_too(tcp_plugin: Plugin) -> None:
    for data in (
        b"GARBAGE\r\n\r\n",
        b"GET /v1/health HTTP/1.1\r\nNo colon\r\n\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET /v1/he\x00alth HTTP/1.1\r\nHost: x\r\n\r\n",
        request("POST", "/v1/search", "no object"),
        request("BREW", "/v1/health"),
        request("GET", "/nowhere"),
    ):
        connection = await Connection.open(tcp_plugin.address)
        await connection.send(data)
        reply = await connection.answer()
        assert reply.status in (400, 404, 405), data
        assert reply.code in ("bad_request", "not_found"), data
        connection.close()


async def test_a_valid_request_is_answered_whatever_follows_it(tcp_plugin: Plugin) -> None:
    sound = request("PUT", "/v1/namespaces/workspace:1", {"kind": "workspace"})
    for after in (b"", b"\x00\xff garbage\r\n\r\n", sound[:40], sound):
        connection = await Connection.open(tcp_plugin.address)
        await connection.send(sound + after)
        connection.writer.write_eof()
        assert (await connection.answer()).status == 200, after
        connection.close()
